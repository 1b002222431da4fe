import { parseJson, isObject, objectsOf, objectOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerEvent } from '../../model/canonical-answer';
import type { Annotation } from '../../model/conversation';
import { toFinishReason } from '../../model/finish-reason';
import { ToolCounter, type ProviderTool } from '../../pricing/tool-uses';
import { brokenAnswer, errorInside } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import { isReported } from '../reported-error';
import { unitsOfUses, type ToolUnits } from '../reported-tools';
import type { StreamReader, UpstreamEvent } from '../translation';
import { explanationOf, providerToolOf, tierIn, usageOf } from './answer-reader';
import { readCitation } from './content-reader';
import { mergedCounts, startCounts } from './stream-counts';
import { countsOf, NO_COUNTS } from './usage';
import { readRedacted, readThinking } from './reasoning';
import { toArguments } from '../tool-input';
import { complaintOf, readOrRefuse } from './relayed-answer';

/** A block that has started but not ended. */
interface OpenBlock {
  readonly part: number;
  readonly block: JsonObject;
  textLength: number;
  hasArguments: boolean;
  signature: string;
  readonly citations: unknown[];
}

/** Turns the events of one streamed message into events of an answer. */
export class MessagesStreamReader implements StreamReader {
  readonly #endpoint: Endpoint;
  /** Open blocks by the upstream's index; null for blocks that are not part of an answer. */
  readonly #open = new Map<number, OpenBlock | null>();
  #kinds: { readonly type: string }[] = [];
  #parts = 0;
  #hasStart = false;
  #isOver = false;
  #counts = NO_COUNTS;
  readonly #tools = new ToolCounter();
  #stopReason: string | null = null;
  #stopSequence: string | null = null;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  get uses(): ToolUnits | undefined {
    const { uses } = this.#tools;
    return uses && unitsOfUses(uses);
  }

  read({ name, data }: UpstreamEvent): AnswerEvent[] {
    if (this.#isOver || data === '[DONE]') return [];
    const event = this.#parse(data);
    const type = stringOf(event['type']) ?? name ?? (isReported(event['error']) ? 'error' : null);
    if (type === 'error') throw errorInside(this.#endpoint.provider, complaintOf(event['error']));
    if (type === 'message_start') return this.#onStart(event);
    return type === 'ping' ? [] : this.#readContent(type, event);
  }

  #readContent(type: string | null, event: JsonObject): AnswerEvent[] {
    if (!this.#hasStart) throw this.#broken('an event stands before the message');
    switch (type) {
      case 'content_block_start':
        return this.#onBlockStart(event);
      case 'content_block_delta':
        return this.#onBlockDelta(event);
      case 'content_block_stop':
        return this.#onBlockStop(event);
      case 'message_delta':
        return this.#onMessageDelta(event);
      case 'message_stop':
        return this.#finish();
      default:
        return [];
    }
  }

  end(): AnswerEvent[] {
    return this.#isOver ? [] : this.#finish();
  }

  #parse(data: string): JsonObject {
    const value = readOrRefuse(this.#endpoint.provider, () => parseJson(Buffer.from(data)));
    if (isObject(value)) return value;
    throw this.#broken('an event is no object');
  }

  #onStart(event: JsonObject): AnswerEvent[] {
    if (this.#hasStart) return [];
    const { message } = event;
    if (!isObject(message)) throw this.#broken('the message is missing');
    this.#hasStart = true;
    this.#counts = startCounts(countsOf(message['usage']));
    return [{ type: 'start', upstreamId: stringOf(message['id']) ?? null, createdAt: null }, ...this.#report()];
  }

  #onBlockStart(event: JsonObject): AnswerEvent[] {
    const { content_block: block } = event;
    if (!isObject(block)) throw this.#broken('a block is missing');
    const tool = providerToolOf(block);
    if (tool !== null) this.#use(tool);
    const started = this.#startedPart(block);
    const index = this.#indexOf(event);
    if (started.length === 0) {
      this.#open.set(index, null);
      return [];
    }
    const open = { part: this.#parts, block, textLength: 0, hasArguments: false, signature: '', citations: [] };
    this.#open.set(index, open);
    this.#parts += 1;
    this.#kinds.push({ type: String(block['type']) });
    return [...started, ...this.#firstDeltas(open)];
  }

  #use(tool: ProviderTool): void {
    this.#tools.add(tool);
    this.#counts = { ...this.#counts, tools: this.#tools.uses ?? null };
  }

  #startedPart(block: JsonObject): AnswerEvent[] {
    const part = this.#parts;
    switch (block['type']) {
      case 'text':
        return [{ type: 'part-start', part, kind: 'text' }];
      case 'thinking':
      case 'redacted_thinking':
        return [{ type: 'part-start', part, kind: 'reasoning' }];
      case 'tool_use': {
        const [id, name] = [stringOf(block['id']) ?? '', stringOf(block['name']) ?? ''];
        return [{ type: 'part-start', part, kind: 'tool-call', id, name }];
      }
      default:
        return [];
    }
  }

  /** Returns the deltas for content that arrives in the start event of a block. */
  #firstDeltas(open: OpenBlock): AnswerEvent[] {
    const { part, block } = open;
    if (block['type'] === 'redacted_thinking') {
      const { type: _type, ...delta } = readRedacted(stringOf(block['data']) ?? '');
      return [{ type: 'reasoning-delta', part, delta }];
    }
    open.citations.push(...objectsOf(block['citations']));
    open.signature = stringOf(block['signature']) ?? '';
    return [...this.#text(open, block['text']), ...this.#thinking(open, block['thinking'])];
  }

  #onBlockDelta(event: JsonObject): AnswerEvent[] {
    const open = this.#openAt(event);
    const delta = objectOf(event['delta']);
    if (open === null) return [];
    switch (delta['type']) {
      case 'text_delta':
        return this.#text(open, delta['text']);
      case 'thinking_delta':
        return this.#thinking(open, delta['thinking']);
      case 'input_json_delta':
        return this.#arguments(open, delta['partial_json']);
      case 'signature_delta':
        open.signature += stringOf(delta['signature']) ?? '';
        return [];
      case 'citations_delta':
        open.citations.push(delta['citation']);
        return [];
      default:
        return [];
    }
  }

  #text(open: OpenBlock, text: unknown): AnswerEvent[] {
    if (typeof text !== 'string' || text === '') return [];
    open.textLength += text.length;
    return [{ type: 'text-delta', part: open.part, text }];
  }

  #thinking({ part }: OpenBlock, text: unknown): AnswerEvent[] {
    return typeof text === 'string' && text !== '' ? [{ type: 'reasoning-delta', part, delta: { text } }] : [];
  }

  #arguments(open: OpenBlock, text: unknown): AnswerEvent[] {
    if (typeof text !== 'string' || text === '') return [];
    open.hasArguments = true;
    return [{ type: 'tool-arguments-delta', part: open.part, arguments: text }];
  }

  #onBlockStop(event: JsonObject): AnswerEvent[] {
    const open = this.#openAt(event);
    this.#open.delete(this.#indexOf(event));
    return open === null ? [] : this.#close(open);
  }

  /** Ends a part and returns the events that are known only at the end of its block. */
  #close({ part, block, textLength, hasArguments, signature, citations }: OpenBlock): AnswerEvent[] {
    const events: AnswerEvent[] = citations
      .flatMap((citation) => readCitation(citation, textLength))
      .map((annotation: Annotation) => ({ type: 'annotation', part, annotation }));
    if (block['type'] === 'tool_use' && !hasArguments) {
      events.push({ type: 'tool-arguments-delta', part, arguments: toArguments(block['input']) });
    }
    if (signature !== '') {
      const { type: _type, text: _shown, ...delta } = readThinking('', signature);
      events.push({ type: 'reasoning-delta', part, delta });
    }
    return [...events, { type: 'part-end', part }];
  }

  #onMessageDelta(event: JsonObject): AnswerEvent[] {
    this.#counts = mergedCounts(this.#counts, countsOf(event['usage']));
    const delta = objectOf(event['delta']);
    this.#stopReason = stringOf(delta['stop_reason']) || this.#stopReason;
    this.#stopSequence = stringOf(delta['stop_sequence']) ?? this.#stopSequence;
    return [
      ...explanationOf(delta, this.#kinds).flatMap((explanation) => this.#refusal(explanation)),
      ...this.#report(),
    ];
  }

  #refusal(explanation: { readonly type: string; readonly text?: string }): AnswerEvent[] {
    const part = this.#parts;
    this.#parts += 1;
    this.#kinds.push({ type: 'text' });
    return [
      { type: 'part-start', part, kind: 'refusal' },
      { type: 'text-delta', part, text: explanation.text ?? '' },
      { type: 'part-end', part },
    ];
  }

  /** Returns the counts so far; they are charged if the stream breaks off. */
  #report(): AnswerEvent[] {
    const isPromptOnly = this.#counts.output === null;
    if (isPromptOnly && this.#counts.input === null) return [];
    const counts = { ...this.#counts, ...(isPromptOnly && { output: 0 }) };
    const { usage, units } = usageOf(counts, this.#endpoint.contextLength);
    if (usage === null) return [];
    return [{ type: 'usage', usage, ...(units && { units }), ...(isPromptOnly && { isPromptOnly }) }];
  }

  #finish(): AnswerEvent[] {
    const native = this.#stopReason;
    if (native === null) throw this.#broken('the message ended without a reason');
    this.#isOver = true;
    const events = [...this.#open.values()].flatMap((open) => (open === null ? [] : this.#close(open)));
    return [
      ...events,
      {
        type: 'finish',
        finishReason: toFinishReason(native),
        nativeFinishReason: native,
        ...(this.#stopSequence !== null && { stopSequence: this.#stopSequence }),
        ...tierIn(this.#counts),
      },
    ];
  }

  #openAt(event: JsonObject): OpenBlock | null {
    const open = this.#open.get(this.#indexOf(event));
    if (open === undefined) throw this.#broken('a block has not started');
    return open;
  }

  #indexOf({ index }: JsonObject): number {
    if (typeof index === 'number') return index;
    throw this.#broken('an event names no block');
  }

  #broken(reason: string) {
    return brokenAnswer(this.#endpoint.provider, reason);
  }
}
