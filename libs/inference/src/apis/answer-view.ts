import type { JsonObject } from '@libs/json';
import type { AnswerSource, ReadFile } from './answer-source';

/** A text of a whole answer: the object that holds it, which may be changed, and the name of the field. */
export interface TextPlace {
  readonly holder: Record<string, unknown>;
  readonly member: 'content' | 'text';
}

/** Describes where a whole answer holds the model's output. */
export interface AnswerView {
  readonly member: 'choices' | 'output' | 'content';
  /** Returns the texts in the value of the field `member`. */
  readonly textsOf: (said: readonly JsonObject[]) => readonly TextPlace[];
  /** The field of a text's object that lists its sources. */
  readonly citationsMember: 'citations' | 'annotations';
  /** Returns the citation of a source. If `text` is absent, the citation has no position. */
  readonly writeSource: (source: AnswerSource, text?: string) => object;
  /** Returns the annotation of a file that was read; absent for APIs without such annotations. */
  readonly writeFile?: (file: ReadFile) => object;
}

/** Returns the text of a field; empty if the field is not a string. */
export function textPlace(holder: JsonObject, member: TextPlace['member']): readonly TextPlace[] {
  return typeof holder[member] === 'string' ? [{ holder, member }] : [];
}
