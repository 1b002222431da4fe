import { defined, numberOf, objectOf, objectOrNull, stringOf, type JsonObject } from '@libs/json';
import { tierWord } from '../../catalogue/service-tiers';
import type { AnswerEvent, AnswerPart, ReasoningDelta } from '../../model/canonical-answer';
import type { ReasoningFormat } from '../../model/conversation';
import { brokenAnswer, errorInside } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import { orNone, type ToolUnits } from '../reported-tools';
import type { StreamReader, UpstreamEvent } from '../translation';
import { parseEventData } from '../upstream-event';
import { PartLedger } from './part-sequence';
import { complaintOf, finishOfFields, hasFailed, partsOfItem, readLogprobs } from './answer-reader';
import { readAnnotations, SUMMARY_BREAK } from './content-reader';
import { reasoningFormatOf } from './reasoning';
import { readStreamEvent } from './relayed-event';
import { ToolItems, showsTools } from './tool-items';
import { usageOfResponse } from './usage';

const DONE_WORD = '[DONE]';
const ENDS = new Set(['response.completed', 'response.incomplete']);

type Handler = (reader: ResponsesStreamReader, event: JsonObject) => AnswerEvent[];

const HANDLERS: Readonly<Record<string, Handler>> = {
  'response.created': (reader, event) => reader.start(event),
  'response.in_progress': (reader, event) => reader.start(event),
  'response.queued': (reader, event) => reader.start(event),
  'response.output_item.added': (reader, event) => reader.addItem(event),
  'response.output_item.done': (reader, event) => reader.endItem(event),
  'response.output_text.delta': (reader, event) => reader.text(event, 'text', 'delta'),
  'response.output_text.done': (reader, event) => reader.text(event, 'text', 'text'),
  'response.output_text.annotation.added': (reader, event) => reader.annotate(event),
  'response.refusal.delta': (reader, event) => reader.text(event, 'refusal', 'delta'),
  'response.refusal.done': (reader, event) => reader.text(event, 'refusal', 'refusal'),
  'response.content_part.done': (reader, event) => reader.endContent(event),
  'response.reasoning_text.delta': (reader, event) => reader.think(event, 'text', 'content_index'),
  'response.reasoning_summary_text.delta': (reader, event) => reader.think(event, 'summary', 'summary_index'),
  'response.function_call_arguments.delta': (reader, event) => reader.argue(event),
  'response.completed': (reader, event) => reader.finish(event),
  'response.incomplete': (reader, event) => reader.finish(event),
};

/**
 * Reads the events of a streamed response.
 *
 * Passes deltas on as they arrive. If a `done` event or the last response contains more than the deltas did, the rest
 * is passed on then. So nothing is lost if an upstream sends an item only as a whole.
 */
export class ResponsesStreamReader implements StreamReader {
  readonly #ledger = new PartLedger();
  readonly #uses = new ToolItems();
  readonly #format: ReasoningFormat;
  #hasStarted = false;
  #isFinished = false;

  constructor(private readonly endpoint: Endpoint) {
    this.#format = reasoningFormatOf(endpoint);
  }

  get uses(): ToolUnits | undefined {
    return orNone(this.#uses.units);
  }

  usesWithBegun(): ToolUnits | undefined {
    this.#uses.endAll();
    return this.uses;
  }

  read({ data }: UpstreamEvent): AnswerEvent[] {
    if (this.#isFinished || data === DONE_WORD) return [];
    if (showsTools(data)) this.#uses.note(readStreamEvent(Buffer.from(data)));
    const event = parseEventData(data, this.endpoint.provider);
    this.#refuseError(event);
    const type = stringOf(event['type']) ?? '';
    const response = objectOrNull(event['response']);
    if (type === 'response.failed' || (response !== null && ENDS.has(type) && hasFailed(response))) {
      return this.#fail(response);
    }
    return Object.hasOwn(HANDLERS, type) ? HANDLERS[type]!(this, event) : [];
  }

  #refuseError(event: JsonObject): void {
    const { type, error } = event;
    const isError = type === 'error' || type === 'response.error' || (type === undefined && error != null);
    if (isError) throw errorInside(this.endpoint.provider, complaintOf(error ?? event));
  }

  /** Ends a failed stream with the usage that the upstream reports, to charge it. @throws AppError without usage */
  #fail(response: JsonObject | null): AnswerEvent[] {
    const failure = errorInside(this.endpoint.provider, complaintOf(response?.['error']));
    const usage = this.#usageOf(response ?? {});
    if (usage === null) throw failure;
    this.#isFinished = true;
    return [
      { type: 'usage', ...usage },
      { type: 'finish', finishReason: 'error', nativeFinishReason: 'failed', failure },
    ];
  }

  /** Some upstreams leave finished items out of the last response. */
  #usageOf({ usage, output }: JsonObject): ReturnType<typeof usageOfResponse> {
    return usageOfResponse(usage, output, this.endpoint, this.uses);
  }

  end(): AnswerEvent[] {
    if (this.#isFinished) return [];
    throw brokenAnswer(this.endpoint.provider, 'the stream was cut');
  }

  start({ response }: JsonObject): AnswerEvent[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    const fields = objectOf(response);
    return [
      {
        type: 'start',
        upstreamId: stringOf(fields['id']) ?? null,
        createdAt: numberOf(fields['created_at']) ?? null,
      },
    ];
  }

  /** Begins the parts of an item. Calls and thoughts have one part each; a message has one for each of its contents. */
  addItem(event: JsonObject): AnswerEvent[] {
    const item = objectOf(event['item']);
    const key = itemKey(event);
    const start = this.start({});
    const [part] = partsOfItem(item, this.#format);
    if (part?.type === 'tool-call' && item['type'] === 'function_call') {
      return [...start, ...this.#ledger.begin(key, { kind: 'tool-call', id: part.id, name: part.name })];
    }
    if (part?.type !== 'reasoning') return start;
    const delta = defined({ id: part.id });
    return [...start, ...this.#ledger.begin(key, { kind: 'reasoning' }), ...this.#ledger.reasoning(key, delta)];
  }

  text(event: JsonObject, kind: 'text' | 'refusal', member: string): AnswerEvent[] {
    const said = stringOf(event[member]) ?? '';
    const key = contentKey(event);
    const text = member === 'delta' ? said : this.#ledger.restOf(key, said);
    const isNew = member === 'delta' || text === said;
    const logprobs = isNew ? readLogprobs(event['logprobs']) : [];
    return text === '' ? this.#ledger.begin(key, { kind }) : this.#ledger.text(key, kind, text, logprobs);
  }

  annotate(event: JsonObject): AnswerEvent[] {
    const key = contentKey(event);
    return readAnnotations([event['annotation']]).flatMap((annotation) => this.#ledger.annotation(key, annotation));
  }

  endContent(event: JsonObject): AnswerEvent[] {
    return this.#ledger.end(contentKey(event));
  }

  think(event: JsonObject, member: 'text' | 'summary', indexMember: string): AnswerEvent[] {
    const key = itemKey(event);
    const gap = this.#ledger.isNewSection(key, member, numberOf(event[indexMember]) ?? 0) ? SUMMARY_BREAK : '';
    return this.#ledger.reasoning(key, { [member]: gap + (stringOf(event['delta']) ?? '') });
  }

  argue(event: JsonObject): AnswerEvent[] {
    return this.#ledger.arguments(itemKey(event), stringOf(event['delta']) ?? '');
  }

  endItem(event: JsonObject): AnswerEvent[] {
    return this.#endItem(objectOf(event['item']), numberOf(event['output_index']) ?? 0);
  }

  #endItem(item: JsonObject, outputIndex: number): AnswerEvent[] {
    const key = String(outputIndex);
    const parts = partsOfItem(item, this.#format);
    if (item['type'] !== 'message') return parts.flatMap((part) => this.#endPart(key, part));
    return parts.flatMap((part, index) => this.#endPart(`${key}/${index}`, part));
  }

  /** Adds the content that the deltas did not include, and ends the part. */
  #endPart(key: string, part: AnswerPart): AnswerEvent[] {
    if (this.#ledger.hasEnded(key)) return [];
    return [...this.#missing(key, part), ...this.#ledger.end(key)];
  }

  #missing(key: string, part: AnswerPart): AnswerEvent[] {
    switch (part.type) {
      case 'text': {
        const rest = this.#ledger.restOf(key, part.text);
        const late = this.#ledger.hasBegun(key) ? [] : (part.annotations ?? []);
        const text = rest === '' ? this.#ledger.begin(key, { kind: 'text' }) : this.#ledger.text(key, 'text', rest, []);
        return [...text, ...late.flatMap((annotation) => this.#ledger.annotation(key, annotation))];
      }
      case 'refusal':
        return this.#ledger.text(key, 'refusal', this.#ledger.restOf(key, part.text), []);
      case 'tool-call': {
        const { id, name } = part;
        const begun = this.#ledger.begin(key, { kind: 'tool-call', id, name });
        return [...begun, ...this.#ledger.arguments(key, this.#ledger.restOf(key, part.arguments))];
      }
      case 'reasoning':
        return this.#missingThoughts(key, part);
      case 'generated-image':
        return this.#ledger.begin(key, { kind: 'generated-image', url: part.url });
      case 'server-tool':
        return [];
    }
  }

  #missingThoughts(key: string, part: Extract<AnswerPart, { type: 'reasoning' }>): AnswerEvent[] {
    const { text, summary, signature, encrypted, id, format } = part;
    const delta: ReasoningDelta = defined({
      text: this.#ledger.hasThought(key, 'text') ? undefined : text,
      summary: this.#ledger.hasThought(key, 'summary') ? undefined : summary,
      signature,
      encrypted,
      id: this.#ledger.hasBegun(key) ? undefined : id,
      format,
    });
    return [...this.#ledger.begin(key, { kind: 'reasoning' }), ...this.#ledger.reasoning(key, delta)];
  }

  finish(event: JsonObject): AnswerEvent[] {
    const response = objectOrNull(event['response']);
    if (response === null) throw brokenAnswer(this.endpoint.provider, 'the last event has no response');
    this.#isFinished = true;
    const output: readonly unknown[] = Array.isArray(response['output']) ? response['output'] : [];
    const usage = this.#usageOf(response);
    const tier = stringOf(response['service_tier']);
    return [
      ...this.start(event),
      ...output.flatMap((item, index) => this.#endItem(objectOf(item), index)),
      ...this.#ledger.endAll(),
      ...(usage === null ? [] : [{ type: 'usage' as const, ...usage }]),
      defined({
        type: 'finish' as const,
        ...finishOfFields(response),
        serviceTier: tier === undefined ? undefined : tierWord(tier),
      }),
    ];
  }
}

function itemKey(event: JsonObject): string {
  return String(numberOf(event['output_index']) ?? 0);
}

function contentKey(event: JsonObject): string {
  return `${itemKey(event)}/${numberOf(event['content_index']) ?? 0}`;
}
