import type { JsonObject } from '@libs/json';
import type { AnswerSource } from './answer-source';

/** A text of a whole answer: a member of an object that may be changed. */
export interface TextPlace {
  readonly holder: Record<string, unknown>;
  readonly member: 'content' | 'text';
}

/** Where a whole answer has what the model said. */
export interface AnswerView {
  readonly member: 'choices' | 'output' | 'content';
  /** Returns the texts in the value of that member. */
  readonly textsOf: (said: readonly JsonObject[]) => readonly TextPlace[];
  /** The member of a text's object that lists its sources. */
  readonly citationsMember: 'citations' | 'annotations';
  /** Writes a source of a text. Of a text that is not known yet, only the source is said. */
  readonly writeSource: (source: AnswerSource, text?: string) => object;
}

/** None where the member is no text. */
export function textPlace(holder: JsonObject, member: TextPlace['member']): readonly TextPlace[] {
  return typeof holder[member] === 'string' ? [{ holder, member }] : [];
}
