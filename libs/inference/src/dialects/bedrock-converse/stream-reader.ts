import { isObject, numberOf, objectOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerEvent } from '../../model/canonical-answer';
import { brokenAnswer } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import type { StreamReader, UpstreamEvent } from '../translation';
import { parseEventData } from '../upstream-event';
import { proofOf } from './answer-reader';
import { readCitation } from './citations';
import { familyOf, type ModelFamily } from './traits';
import { readStop, type Stop } from './stop-reason';
import { readTier, readUsage } from './usage';

/**
 * A block that has started but not ended. Blocks of tools that run at Bedrock are marked as foreign and left out of the
 * answer.
 */
interface OpenBlock {
  readonly index: number;
  readonly kind: 'text' | 'reasoning' | 'tool-call' | 'foreign';
  readonly part: number;
  textLength: number;
  hasArguments: boolean;
  signature: string;
  readonly redacted: string[];
  readonly citations: unknown[];
}

/**
 * Turns the events of ConverseStream into events of an answer. Blocks of text and of thoughts have no start
 * event. The stop reason arrives before the usage.
 */
export class ConverseStreamReader implements StreamReader {
  readonly #endpoint: Endpoint;
  readonly #family: ModelFamily;
  #open: OpenBlock | null = null;
  #parts = 0;
  #hasStart = false;
  #stop: Stop | null = null;
  #metadata: JsonObject | null = null;
  #isOver = false;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
    this.#family = familyOf(endpoint);
  }

  read({ name, data }: UpstreamEvent): AnswerEvent[] {
    if (this.#isOver) return [];
    const event = parseEventData(data, this.#endpoint.provider);
    switch (name) {
      case 'messageStart':
        return this.#start();
      case 'contentBlockStart':
        return [...this.#start(), ...this.#onStart(event)];
      case 'contentBlockDelta':
        return [...this.#start(), ...this.#onDelta(event)];
      case 'contentBlockStop':
        return this.#open?.index === this.#indexOf(event) ? this.#close() : [];
      case 'messageStop':
        return this.#onStop(event);
      case 'metadata':
        this.#metadata = event;
        return [...this.#start(), ...this.#report(event), ...this.#finish(false)];
      default:
        return [];
    }
  }

  end(): AnswerEvent[] {
    if (this.#isOver) return [];
    if (this.#stop === null) throw this.#broken('the stream was cut');
    return this.#finish(true);
  }

  #start(): AnswerEvent[] {
    if (this.#hasStart) return [];
    this.#hasStart = true;
    return [{ type: 'start', upstreamId: null, createdAt: null }];
  }

  #onStart(event: JsonObject): AnswerEvent[] {
    const { toolUse, toolResult } = objectOf(event['start']);
    if (toolResult !== undefined) return this.#begin(event, 'foreign');
    if (!isObject(toolUse)) return [];
    if (toolUse['type'] === 'server_tool_use') return this.#begin(event, 'foreign');
    const id = stringOf(toolUse['toolUseId']) ?? '';
    const name = stringOf(toolUse['name']) ?? '';
    const closed = this.#begin(event, 'tool-call');
    return [...closed, { type: 'part-start', part: this.#open!.part, kind: 'tool-call', id, name }];
  }

  #onDelta(event: JsonObject): AnswerEvent[] {
    const { text, toolUse, reasoningContent, citation } = objectOf(event['delta']);
    if (this.#isForeign(event)) return [];
    if (typeof text === 'string') return this.#onText(event, text);
    if (isObject(toolUse)) return this.#onArguments(event, stringOf(toolUse['input']) ?? '');
    if (isObject(reasoningContent)) return this.#onThought(event, reasoningContent);
    if (citation === undefined) return [];
    const started = this.#within(event, 'text');
    this.#open!.citations.push(citation);
    return started;
  }

  #isForeign(event: JsonObject): boolean {
    return this.#open?.kind === 'foreign' && this.#open.index === this.#indexOf(event);
  }

  #onText(event: JsonObject, text: string): AnswerEvent[] {
    const started = this.#within(event, 'text');
    const open = this.#open!;
    open.textLength += text.length;
    return text === '' ? started : [...started, { type: 'text-delta', part: open.part, text }];
  }

  #onArguments(event: JsonObject, text: string): AnswerEvent[] {
    const open = this.#open;
    if (open?.kind !== 'tool-call' || open.index !== this.#indexOf(event)) {
      throw this.#broken('a use of a tool has not started');
    }
    if (text === '') return [];
    open.hasArguments = true;
    return [{ type: 'tool-arguments-delta', part: open.part, arguments: text }];
  }

  #onThought(event: JsonObject, { text, signature, redactedContent }: JsonObject): AnswerEvent[] {
    const started = this.#within(event, 'reasoning');
    const open = this.#open!;
    open.signature += stringOf(signature) ?? '';
    if (typeof redactedContent === 'string') open.redacted.push(redactedContent);
    if (typeof text !== 'string' || text === '') return started;
    return [...started, { type: 'reasoning-delta', part: open.part, delta: { text } }];
  }

  /** Opens the block of a delta unless it is already open. */
  #within(event: JsonObject, kind: 'text' | 'reasoning'): AnswerEvent[] {
    if (this.#open?.index === this.#indexOf(event) && this.#open.kind === kind) return [];
    const closed = this.#begin(event, kind);
    return [...closed, { type: 'part-start', part: this.#open!.part, kind }];
  }

  /** Opens a block. Ends the previous one first, because some models do not send its end. */
  #begin(event: JsonObject, kind: OpenBlock['kind']): AnswerEvent[] {
    const closed = this.#close();
    const index = this.#indexOf(event);
    const part = this.#parts;
    if (kind !== 'foreign') this.#parts += 1;
    const nothingYet = { textLength: 0, hasArguments: false, signature: '', redacted: [], citations: [] };
    this.#open = { index, kind, part, ...nothingYet };
    return closed;
  }

  /** Ends the open block and returns the events that could not be sent before its end. */
  #close(): AnswerEvent[] {
    const open = this.#open;
    this.#open = null;
    if (open === null || open.kind === 'foreign') return [];
    const { part, textLength, signature, redacted } = open;
    const events: AnswerEvent[] = open.citations
      .flatMap((citation) => readCitation(citation, textLength))
      .map((annotation) => ({ type: 'annotation', part, annotation }));
    if (open.kind === 'tool-call' && !open.hasArguments) {
      events.push({ type: 'tool-arguments-delta', part, arguments: '{}' });
    }
    const proof = proofOf(signature, joinedBase64(redacted), this.#family);
    if (proof.format !== undefined) events.push({ type: 'reasoning-delta', part, delta: proof });
    return [...events, { type: 'part-end', part }];
  }

  #report(metadata: JsonObject): AnswerEvent[] {
    const { usage, units } = readUsage(metadata['usage']);
    return usage === null ? [] : [{ type: 'usage', usage, ...(units && { units }) }];
  }

  #onStop(event: JsonObject): AnswerEvent[] {
    this.#stop = readStop(event);
    if (this.#stop.nativeFinishReason === null) throw this.#broken('the message ended without a reason');
    return this.#finish(false);
  }

  /** Finishes at the end of the body, or as soon as both the stop reason and the usage have arrived. */
  #finish(isEnd: boolean): AnswerEvent[] {
    const closed = this.#stop === null ? [] : this.#close();
    if (this.#stop === null || (this.#metadata === null && !isEnd)) return closed;
    this.#isOver = true;
    return [...this.#start(), ...closed, { type: 'finish', ...this.#stop, ...readTier(this.#metadata) }];
  }

  #indexOf({ contentBlockIndex }: JsonObject): number {
    const index = numberOf(contentBlockIndex);
    if (index === undefined) throw this.#broken('an event names no block');
    return index;
  }

  #broken(reason: string) {
    return brokenAnswer(this.#endpoint.provider, reason);
  }
}

/** Joins base64 pieces that were encoded one by one; a single piece stays as it is. */
function joinedBase64(pieces: readonly string[]): string | undefined {
  if (pieces.length < 2) return pieces[0];
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');
}
