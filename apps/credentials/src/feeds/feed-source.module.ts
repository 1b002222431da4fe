import { Module } from '@nestjs/common';
import { FeedsRepository, UsedQuestionsRepository } from '@libs/persistence';
import { FeedSource, UsedQuestions } from '@libs/platform';

/** Stores the changes that this app publishes and the requests that it has handled. */
@Module({
  providers: [
    { provide: FeedSource, useExisting: FeedsRepository },
    { provide: UsedQuestions, useExisting: UsedQuestionsRepository },
  ],
  exports: [FeedSource, UsedQuestions],
})
export class FeedSourceModule {}
