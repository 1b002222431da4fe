import type { AppError } from '@libs/errors';
import type { AnswerFrame } from '../../model/answer-frame';
import type { AnswerEvent, ReasoningDelta } from '../../model/canonical-answer';
import type { ReasoningPart } from '../../model/conversation';
import { emptyUsage, type Usage } from '../../pricing/usage';
import type { AnswerContext } from '../dialect';
import { likelyPrompt } from '../reserved-prompt';
import type { Bill, StreamWriter } from '../translation';
import { emptyMessage, endOf, toolUse, wireTier, writeCitation } from './answer-writer';
import { messageError } from './error';
import { countObject, messageUsageObject } from './usage';
import { eventOf } from './relayed-stream';
import { thinkingBlock } from './reasoning';

/** A part that has begun. Its block may start later, when its type is known. */
interface OpenPart {
  index: number | null;
  readonly isReasoning: boolean;
  thoughts: Thoughts;
}

/** Writes the events of one answer as a stream of message events. */
export class MessagesStreamWriter implements StreamWriter {
  readonly #context: AnswerContext;
  readonly #open = new Map<number, OpenPart>();
  #blocks = 0;
  #hasStart = false;
  #hasCalls = false;
  #usage: Usage | null = null;
  #finish: Extract<AnswerEvent, { type: 'finish' }> | null = null;

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  write(event: AnswerEvent): AnswerFrame[] {
    if (event.type === 'usage') {
      this.#usage = event.usage;
      return [];
    }
    if (event.type === 'finish') {
      this.#finish = event;
      return [];
    }
    return [...this.#start(), ...this.#writeContent(event)];
  }

  complete(bill: Bill): AnswerFrame[] {
    const usage = messageUsageObject(bill, wireTier(this.#finish?.serviceTier));
    const delta = { ...endOf(this.#finish, this.#hasCalls), container: null };
    return [
      ...this.#start(),
      ...[...this.#open.keys()].flatMap((part) => this.#end(part)),
      send('message_delta', { delta, usage }),
      send('message_stop', {}),
    ];
  }

  fail(error: AppError, _bill: Bill): AnswerFrame[] {
    return [eventOf('error', JSON.stringify(messageError(error)))];
  }

  /** Writes `message_start`. Most upstreams have not counted the prompt by then, so it contains an estimate. */
  #start(): AnswerFrame[] {
    if (this.#hasStart) return [];
    this.#hasStart = true;
    const promptTokens = this.#usage?.promptTokens ?? likelyPrompt(this.#context);
    const usage = { ...(this.#usage ?? emptyUsage('estimated')), promptTokens, completionTokens: 0 };
    const message = { ...emptyMessage(this.#context), ...endOf(null), usage: countObject(usage, 'standard') };
    return [send('message_start', { message })];
  }

  #writeContent(event: Exclude<AnswerEvent, { type: 'usage' | 'finish' }>): AnswerFrame[] {
    switch (event.type) {
      case 'start':
        return [];
      case 'part-start':
        return this.#onPart(event);
      case 'text-delta':
        return this.#delta(event.part, { type: 'text_delta', text: event.text });
      case 'annotation':
        return this.#delta(event.part, { type: 'citations_delta', citation: writeCitation(event.annotation) });
      case 'reasoning-delta':
        return this.#onThought(event.part, event.delta);
      case 'tool-arguments-delta':
        return this.#delta(event.part, { type: 'input_json_delta', partial_json: event.arguments });
      case 'tool-outcome':
        return [];
      case 'part-end':
        return this.#end(event.part);
    }
  }

  #onPart(event: Extract<AnswerEvent, { type: 'part-start' }>): AnswerFrame[] {
    if (event.kind === 'generated-image' || event.kind === 'server-tool') return [];
    const open: OpenPart = { index: null, isReasoning: event.kind === 'reasoning', thoughts: {} };
    this.#open.set(event.part, open);
    if (event.kind === 'reasoning') return [];
    const isCall = event.kind === 'tool-call';
    this.#hasCalls ||= isCall;
    return this.#begin(open, isCall ? toolUse(event.id, event.name, {}) : { type: 'text', text: '', citations: null });
  }

  #begin(open: OpenPart, block: object): AnswerFrame[] {
    open.index = this.#blocks;
    this.#blocks += 1;
    return [send('content_block_start', { index: open.index, content_block: block })];
  }

  #delta(part: number, delta: object): AnswerFrame[] {
    const index = this.#open.get(part)?.index ?? null;
    return index === null ? [] : [send('content_block_delta', { index, delta })];
  }

  /** Writes a delta of a thought. Its signature is a single opaque text, which is sent when the thought ends. */
  #onThought(part: number, delta: ReasoningDelta): AnswerFrame[] {
    const open = this.#open.get(part);
    if (!open?.isReasoning) return [];
    // A block has one text: the thought's text or its summary, whichever comes first.
    const isSummary = open.thoughts.text === undefined && delta.text === undefined;
    const shown = isSummary ? delta.summary : delta.text;
    open.thoughts = grown(open.thoughts, delta);
    if (!shown) return [];
    return [...this.#beginThinking(open), ...this.#delta(part, { type: 'thinking_delta', thinking: shown })];
  }

  #beginThinking(open: OpenPart): AnswerFrame[] {
    return open.index === null ? this.#begin(open, { type: 'thinking', thinking: '', signature: '' }) : [];
  }

  #end(part: number): AnswerFrame[] {
    const open = this.#open.get(part);
    if (open === undefined) return [];
    const last = open.isReasoning ? this.#proof(open, part) : [];
    this.#open.delete(part);
    return open.index === null ? last : [...last, send('content_block_stop', { index: open.index })];
  }

  #proof(open: OpenPart, part: number): AnswerFrame[] {
    const block = thinkingBlock({ type: 'reasoning', ...open.thoughts });
    if (block === null) return [];
    if (block.type === 'redacted_thinking') return this.#begin(open, block);
    const begun = this.#beginThinking(open);
    if (block.signature === '') return begun;
    return [...begun, ...this.#delta(part, { type: 'signature_delta', signature: block.signature })];
  }
}

type Thoughts = Omit<ReasoningPart, 'type'>;

function grown(thoughts: Thoughts, { text, summary, ...once }: ReasoningDelta): Thoughts {
  return {
    ...thoughts,
    ...once,
    ...(text !== undefined && { text: (thoughts.text ?? '') + text }),
    ...(summary !== undefined && { summary: (thoughts.summary ?? '') + summary }),
  };
}

function send(type: string, members: object): AnswerFrame {
  return eventOf(type, JSON.stringify({ type, ...members }));
}
