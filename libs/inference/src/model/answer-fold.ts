import { readMediaUrl } from './media-url';
import type { AnswerEvent, AnswerPart, ReasoningDelta, TokenLogprob } from './canonical-answer';
import type { Annotation, Message, Part, ReasoningPart, RefusalPart, TextPart } from './conversation';

type PartStart = Extract<AnswerEvent, { type: 'part-start' }>;
type PartEvent = Exclude<Extract<AnswerEvent, { part: number }>, PartStart>;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Adds up the events of a streamed answer. Parts may overlap; they keep the order in which they began. */
export class AnswerFold {
  readonly #parts: AnswerPart[] = [];
  readonly #byNumber = new Map<number, Mutable<AnswerPart>>();
  readonly #logprobs: TokenLogprob[] = [];
  #upstreamId: string | null = null;
  #createdAt: number | null = null;

  get upstreamId(): string | null {
    return this.#upstreamId;
  }

  get createdAt(): number | null {
    return this.#createdAt;
  }

  get parts(): readonly AnswerPart[] {
    return this.#parts;
  }

  get logprobs(): readonly TokenLogprob[] {
    return this.#logprobs;
  }

  /** Returns a part by its number in the events. */
  part(number: number): AnswerPart | undefined {
    return this.#byNumber.get(number);
  }

  add(event: AnswerEvent): void {
    switch (event.type) {
      case 'start':
        this.#upstreamId = event.upstreamId;
        this.#createdAt = event.createdAt;
        return;
      case 'part-start':
        return this.#begin(event);
      case 'usage':
      case 'finish':
        return;
      default:
        return this.#grow(event);
    }
  }

  /** Returns the model's output as the next message of the conversation. */
  toMessage(): Message {
    return { role: 'assistant', parts: this.#parts.flatMap(spokenPart) };
  }

  #begin(event: PartStart): void {
    const part = emptyPart(event);
    this.#parts.push(part);
    this.#byNumber.set(event.part, part);
  }

  #grow(event: PartEvent): void {
    const part = this.#byNumber.get(event.part);
    if (part === undefined) return;
    if (event.type === 'text-delta') for (const logprob of event.logprobs ?? []) this.#logprobs.push(logprob);
    grow(part, event);
  }
}

function grow(part: Mutable<AnswerPart>, event: PartEvent): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return growSpoken(part, event);
    case 'reasoning':
      if (event.type === 'reasoning-delta') addThoughts(part, event.delta);
      return;
    case 'tool-call':
      if (event.type === 'tool-arguments-delta') part.arguments += event.arguments;
      return;
    case 'server-tool':
      if (event.type === 'tool-outcome') Object.assign(part, { hasSucceeded: event.hasSucceeded, item: event.item });
      return;
    case 'generated-image':
      return;
  }
}

function growSpoken(part: Mutable<TextPart> | Mutable<RefusalPart>, event: PartEvent): void {
  if (event.type === 'text-delta') part.text += event.text;
  else if (event.type === 'annotation' && part.type === 'text') {
    // One array that grows; copying it for each annotation would take quadratic time.
    const annotations = (part.annotations ??= []) as Annotation[];
    annotations.push(event.annotation);
  }
}

function emptyPart(event: PartStart): Mutable<AnswerPart> {
  switch (event.kind) {
    case 'tool-call':
      return { type: 'tool-call', id: event.id, name: event.name, arguments: '' };
    case 'generated-image':
      return { type: 'generated-image', url: event.url };
    case 'server-tool':
      return {
        type: 'server-tool',
        tool: event.tool,
        itemType: event.itemType,
        hasSucceeded: false,
        item: event.item,
        ...(event.record && { record: event.record }),
      };
    case 'reasoning':
      return { type: 'reasoning' };
    case 'text':
    case 'refusal':
      return { type: event.kind, text: '' };
  }
}

/** Appends text and summary; what neither piece has stays absent. */
function addThoughts(part: Mutable<ReasoningPart>, { text, summary, ...once }: ReasoningDelta): void {
  Object.assign(part, once);
  if (text !== undefined) part.text = (part.text ?? '') + text;
  if (summary !== undefined) part.summary = (part.summary ?? '') + summary;
}

function spokenPart(part: AnswerPart): Part[] {
  if (part.type === 'server-tool') return [];
  return [part.type === 'generated-image' ? { type: 'image', source: readMediaUrl(part.url) } : part];
}
