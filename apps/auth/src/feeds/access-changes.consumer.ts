import { Controller } from '@nestjs/common';
import { ReadAccessChanges, ReadChangesRequest, type FeedChanges } from '@libs/contracts';
import { FeedSource, Handles } from '@libs/platform';

@Controller()
export class AccessChangesConsumer {
  constructor(private readonly feeds: FeedSource) {}

  @Handles(ReadAccessChanges)
  read({ revision, mark }: ReadChangesRequest): Promise<FeedChanges> {
    const since = revision === undefined || mark === undefined ? null : { revision, mark };
    return this.feeds.changesSince('access', since);
  }
}
