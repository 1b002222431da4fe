import type { AnswerEvent } from '../../model/canonical-answer';
import type { ItemContext, ItemStatus } from './answer-items';

export type PartStart = Extract<AnswerEvent, { type: 'part-start' }>;
/** What happens to a part after it has begun. */
export type PartEvent = Extract<
  AnswerEvent,
  { type: 'text-delta' | 'annotation' | 'reasoning-delta' | 'tool-arguments-delta' | 'tool-outcome' | 'part-end' }
>;

export interface ItemPlace extends ItemContext {
  readonly outputIndex: number;
}

/** One output item while it comes into being: tells the caller of every step. */
export interface OpenItem {
  /** No part of it is open. */
  readonly isIdle: boolean;
  /** The item as it is told in its last event. */
  readonly written: object;
  /** Whether a part that begins now belongs to this item. */
  takes(event: PartStart): boolean;
  begin(event: PartStart): void;
  take(event: PartEvent): void;
  /** Tells of the item now, where that would else wait for more. */
  announce?(): void;
  /** Ends the item and what is still open in it. Again: nothing. */
  end(status: ItemStatus): void;
}
