import { Controller } from '@nestjs/common';
import { ReadCredentialChanges, ReadChangesRequest, type FeedChanges } from '@libs/contracts';
import { FeedSource, Handles } from '@libs/platform';

@Controller()
export class CredentialChangesConsumer {
  constructor(private readonly feeds: FeedSource) {}

  @Handles(ReadCredentialChanges)
  read({ revision, mark }: ReadChangesRequest): Promise<FeedChanges> {
    const since = revision === undefined || mark === undefined ? null : { revision, mark };
    return this.feeds.changesSince('credentials', since);
  }
}
