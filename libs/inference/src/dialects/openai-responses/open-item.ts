import type { AnswerEvent } from '../../model/canonical-answer';
import type { ItemContext, ItemStatus } from './answer-items';

export type PartStart = Extract<AnswerEvent, { type: 'part-start' }>;
/** An event of a part that has already begun. */
export type PartEvent = Extract<
  AnswerEvent,
  { type: 'text-delta' | 'annotation' | 'reasoning-delta' | 'tool-arguments-delta' | 'tool-outcome' | 'part-end' }
>;

export interface ItemPlace extends ItemContext {
  readonly outputIndex: number;
}

/** One output item that is being streamed. It sends the caller an event for every step. */
export interface OpenItem {
  /** No part of it is open. */
  readonly isIdle: boolean;
  /** The item in the form in which its last event shows it. */
  readonly written: object;
  /** Returns whether a part that begins now belongs to this item. */
  takes(event: PartStart): boolean;
  begin(event: PartStart): void;
  take(event: PartEvent): void;
  /** Sends the item's first event now if it was delayed until the first content. */
  announce?(): void;
  /**
   * Ends the item and its open parts. Idempotent.
   *
   * Agents such as Codex run a call as soon as it is done. If the response has failed, a call has no last events, so
   * that nothing runs twice when the agent asks again.
   */
  end(status: ItemStatus, hasFailed?: boolean): void;
}
