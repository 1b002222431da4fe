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

/** One output item that is being streamed: sends the caller an event for every step. */
export interface OpenItem {
  /** No part of it is open. */
  readonly isIdle: boolean;
  /** The item as its last event shows it. */
  readonly written: object;
  /** Whether a part that begins now belongs to this item. */
  takes(event: PartStart): boolean;
  begin(event: PartStart): void;
  take(event: PartEvent): void;
  /** Sends the item's first event now, if the item has put it off until its first content. */
  announce?(): void;
  /** Ends the item and its open parts. Idempotent. */
  end(status: ItemStatus): void;
}
