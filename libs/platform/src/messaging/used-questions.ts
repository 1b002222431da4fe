import type { PartyName } from '@libs/contracts';

/** The ids of questions that must not be handled twice, known to every process of their owner. */
export abstract class UsedQuestions {
  /** Returns false for a question that was claimed before. @param untilMs from when on the signature has run out */
  abstract claim(asker: PartyName, id: string, untilMs: number): Promise<boolean>;
}
