import { Module } from '@nestjs/common';
import { FeedsRepository, UsedQuestionsRepository } from '@libs/persistence';
import { FeedSource, UsedQuestions } from '@libs/platform';

/** Where the changes that this app publishes and the questions that it has handled are stored. */
@Module({
  providers: [
    { provide: FeedSource, useExisting: FeedsRepository },
    { provide: UsedQuestions, useExisting: UsedQuestionsRepository },
  ],
  exports: [FeedSource, UsedQuestions],
})
export class FeedSourceModule {}
