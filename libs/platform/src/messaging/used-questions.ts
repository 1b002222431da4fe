import type { PartyName } from '@libs/contracts';

/** A question that changes something. */
export interface ChangingQuestion {
  readonly asker: PartyName;
  readonly id: string;
  /** When its caller gives up, by the clock of `nowMs`. */
  readonly expiresAtMs: number;
}

/** `late`: its asker has given up. */
export type Claim = 'first' | 'repeated' | 'late';

/** The questions that must be handled once and in time, known to every process of their owner. */
export abstract class UsedQuestions {
  /** The time by which askers set their deadlines: one clock for all processes. */
  abstract nowMs(): Promise<number>;

  /** Only the `first` claim of a request may handle it. */
  abstract claim(question: ChangingQuestion): Promise<Claim>;

  /** Runs the handler of a request. Its change is rolled back if it is ready only after the caller has given up. */
  abstract handle<T>(question: ChangingQuestion, handler: () => Promise<T>): Promise<T>;
}
