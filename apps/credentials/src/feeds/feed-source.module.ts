import { Module } from '@nestjs/common';
import { FeedsRepository } from '@libs/persistence';
import { FeedSource } from '@libs/platform';

/** Where the changes that this app publishes are stored. */
@Module({ providers: [{ provide: FeedSource, useExisting: FeedsRepository }], exports: [FeedSource] })
export class FeedSourceModule {}
