import type { AnswerEvent, AnswerPart, ReasoningDelta, TokenLogprob } from '../model/canonical-answer';
import type { RefusalPart, TextPart } from '../model/conversation';
import type { FinishReason } from '../model/finish-reason';
import type { Usage } from '../pricing/usage';

/** What the events of one streamed answer add up to. */
export interface FoldedAnswer {
  readonly upstreamId: string | null;
  readonly createdAt: number | null;
  readonly parts: readonly AnswerPart[];
  readonly logprobs: readonly TokenLogprob[];
  readonly usage: Usage | null;
  readonly finishReason: FinishReason;
  readonly nativeFinishReason: string | null;
}

type PartStart = Extract<AnswerEvent, { type: 'part-start' }>;
type PartDelta = Extract<AnswerEvent, { part: number }>;

/**
 * Adds the events up. Throws for events that break the order they promise: one start, first; parts numbered
 * from 0, one after the other, each event inside its part; one finish, last.
 */
export function foldAnswer(events: readonly AnswerEvent[]): FoldedAnswer {
  const [start, ...rest] = events;
  const finish = rest.pop();
  if (start?.type !== 'start') throw new Error('the first event is no start');
  if (finish?.type !== 'finish') throw new Error('the last event is no finish');
  const fold = new Fold();
  for (const event of rest) fold.add(event);
  if (fold.isOpen) throw new Error('a part does not end');
  const { upstreamId, createdAt } = start;
  const { finishReason, nativeFinishReason } = finish;
  const { parts, logprobs, usage } = fold;
  return { upstreamId, createdAt, parts, logprobs, usage, finishReason, nativeFinishReason };
}

class Fold {
  readonly parts: AnswerPart[] = [];
  readonly logprobs: TokenLogprob[] = [];
  usage: Usage | null = null;
  isOpen = false;

  add(event: AnswerEvent): void {
    if (event.type === 'usage') this.usage = event.usage;
    else if (event.type === 'part-start') this.#start(event);
    else if ('part' in event) this.#change(event);
    else throw new Error(`a second ${event.type}`);
  }

  #start(event: PartStart): void {
    if (this.isOpen || event.part !== this.parts.length) throw new Error('a part begins out of turn');
    this.isOpen = true;
    this.parts.push(emptyPart(event));
  }

  #change(event: PartDelta): void {
    if (!this.isOpen || event.part !== this.parts.length - 1) throw new Error('an event stands outside its part');
    if (event.type === 'part-end') this.isOpen = false;
    else this.parts.push(grown(this.parts.pop()!, event));
    if (event.type === 'text-delta') this.logprobs.push(...(event.logprobs ?? []));
  }
}

function emptyPart(event: PartStart): AnswerPart {
  if (event.kind === 'tool-call') return { type: 'tool-call', id: event.id, name: event.name, arguments: '' };
  if (event.kind === 'generated-image') return { type: 'generated-image', url: event.url };
  if (event.kind === 'server-tool') throw new Error('no upstream runs tools of ours');
  return event.kind === 'reasoning' ? { type: 'reasoning' } : { type: event.kind, text: '' };
}

function grown(part: AnswerPart, event: PartDelta): AnswerPart {
  if (part.type === 'tool-call' && event.type === 'tool-arguments-delta') {
    return { ...part, arguments: part.arguments + event.arguments };
  }
  if (part.type === 'reasoning' && event.type === 'reasoning-delta') {
    return { ...part, ...event.delta, ...sums(part, event.delta) };
  }
  if (part.type === 'text' || part.type === 'refusal') return grownText(part, event);
  throw new Error(`a ${event.type} in a part of ${part.type}`);
}

function grownText<T extends TextPart | RefusalPart>(part: T, event: PartDelta): T {
  if (event.type === 'text-delta') return { ...part, text: part.text + event.text };
  if (part.type === 'text' && event.type === 'annotation') {
    return { ...part, annotations: [...(part.annotations ?? []), event.annotation] };
  }
  throw new Error(`a ${event.type} in a part of ${part.type}`);
}

/** Text and summary add up; what neither has stays absent. */
function sums(part: ReasoningDelta, delta: ReasoningDelta): ReasoningDelta {
  const sum = (name: 'text' | 'summary'): ReasoningDelta =>
    part[name] === undefined && delta[name] === undefined ? {} : { [name]: (part[name] ?? '') + (delta[name] ?? '') };
  return { ...sum('text'), ...sum('summary') };
}
