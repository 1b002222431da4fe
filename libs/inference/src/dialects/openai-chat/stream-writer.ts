import { defined, type JsonObject } from '@libs/json';
import type { AppError } from '@libs/errors';
import { DONE_FRAME, type AnswerFrame } from '../../model/answer-frame';
import type { AnswerEvent, TokenLogprob } from '../../model/canonical-answer';
import type { Annotation } from '../../model/conversation';
import { ownMembers } from '../billing';
import { chatChunk, debugChunk, failureChunk, usageChunk } from './stream-events';
import type { AnswerContext } from '../dialect';
import { textOfArguments } from '../free-text-tools';
import type { StreamDebug } from '../stream-debug';
import type { Bill, StreamWriter } from '../translation';
import { shifted, writeAnnotation } from './citations';
import { customNames } from './custom-tools';
import { writeLogprobs } from './logprobs';
import { hidesThoughts } from './hidden-thoughts';
import { plainThought, writeDetails, writeToolUse } from './reasoning';
import { writeImage } from './answer-writer';
import { unixSeconds } from '../../model/unix-seconds';

type PartStart = Extract<AnswerEvent, { type: 'part-start' }>;

/** A part that has begun: its kind, and its position among the parts of that kind. */
interface OpenPart {
  readonly kind: PartStart['kind'];
  readonly index: number;
  /** For a text: the length of all text before it. */
  readonly textStart: number;
  /** Present in a call of a tool that takes free text: its arguments so far. */
  pending?: string;
}

/** Writes one answer as a stream of `chat.completion.chunk` events. */
export class ChatStreamWriter implements StreamWriter {
  readonly #own: Readonly<Record<string, string>>;
  /** Names of the tools that are called with free text. */
  readonly #freeTexts: ReadonlySet<string>;
  readonly #isReasoningHidden: boolean;
  readonly #parts = new Map<number, OpenPart>();
  /** By kind; thoughts and uses of tools are counted together. */
  readonly #counts = new Map<PartStart['kind'], number>();
  #created = String(unixSeconds());
  readonly #debug: StreamDebug | undefined;
  #textLength = 0;
  #hasRole = false;

  constructor(context: AnswerContext, request?: JsonObject) {
    this.#own = ownMembers(context);
    this.#debug = context.debug;
    this.#freeTexts = customNames(context.requestBody, request);
    this.#isReasoningHidden = hidesThoughts(context.requestBody);
  }

  write(event: AnswerEvent): AnswerFrame[] {
    const written = this.#write(event);
    if (this.#debug === undefined || written.length === 0) return written;
    this.#debug.reached('first_token_received');
    return [...this.#debug.take().map((call) => this.#chunk(debugChunk(call))), ...written];
  }

  #write(event: AnswerEvent): AnswerFrame[] {
    switch (event.type) {
      case 'start':
        if (event.createdAt !== null) this.#created = String(event.createdAt);
        return [];
      case 'part-start':
        return this.#startPart(event);
      case 'text-delta':
        return this.#text(event.part, event.text, event.logprobs);
      case 'annotation':
        return [this.#delta({ annotations: [this.#annotation(event.part, event.annotation)] })];
      case 'reasoning-delta':
        return this.#reasoning(event);
      case 'tool-arguments-delta':
        return this.#argue(event.part, event.arguments);
      case 'part-end':
        return this.#endPart(event.part);
      case 'finish':
        return [...[...this.#parts.keys()].flatMap((part) => this.#endPart(part)), this.#finish(event)];
      default:
        return [];
    }
  }

  complete(bill: Bill): AnswerFrame[] {
    return [this.#chunk(usageChunk(bill), true), DONE_FRAME];
  }

  fail(error: AppError, bill: Bill): AnswerFrame[] {
    return [this.#chunk(failureChunk(error, bill), true), DONE_FRAME];
  }

  #startPart(event: PartStart): AnswerFrame[] {
    const counted = event.kind === 'server-tool' ? 'reasoning' : event.kind;
    const index = this.#counts.get(counted) ?? 0;
    this.#counts.set(counted, index + 1);
    const isFree = event.kind === 'tool-call' && this.#freeTexts.has(event.name);
    const open = { kind: event.kind, index, textStart: this.#textLength };
    this.#parts.set(event.part, isFree ? { ...open, pending: '' } : open);
    if (event.kind === 'server-tool') return this.#toolUse(event, index);
    if (event.kind === 'tool-call') {
      const { id, name } = event;
      const called = isFree
        ? { type: 'custom', custom: { name, input: '' } }
        : { type: 'function', function: { name, arguments: '' } };
      return [this.#delta({ tool_calls: [{ index, id, ...called }] })];
    }
    return event.kind === 'generated-image' ? [this.#delta({ images: [writeImage(event.url)] })] : [];
  }

  #text(part: number, text: string, logprobs: readonly TokenLogprob[] | undefined): AnswerFrame[] {
    if (this.#parts.get(part)?.kind === 'refusal') {
      return [this.#delta({ refusal: text }, writeLogprobs(logprobs, 'refusal'))];
    }
    this.#textLength += text.length;
    return [this.#delta({ content: text }, writeLogprobs(logprobs, 'content'))];
  }

  #annotation(part: number, annotation: Annotation): object {
    return writeAnnotation(shifted(annotation, this.#parts.get(part)?.textStart ?? 0));
  }

  #reasoning({ part, delta }: Extract<AnswerEvent, { type: 'reasoning-delta' }>): AnswerFrame[] {
    if (this.#isReasoningHidden) return [];
    const details = writeDetails(delta, this.#parts.get(part)?.index ?? 0);
    return [this.#delta({ reasoning: plainThought(delta) || null, reasoning_details: details })];
  }

  #toolUse(event: Extract<PartStart, { kind: 'server-tool' }>, index: number): AnswerFrame[] {
    const details = this.#isReasoningHidden ? [] : writeToolUse(event, index);
    return details.length === 0 ? [] : [this.#delta({ reasoning_details: details })];
  }

  /** Keeps pieces of a call with free text: the text is inside JSON, so it is sent when the call is complete. */
  #argue(part: number, text: string): AnswerFrame[] {
    const open = this.#parts.get(part);
    if (open?.pending === undefined) {
      return [this.#delta({ tool_calls: [{ index: open?.index ?? 0, function: { arguments: text } }] })];
    }
    open.pending += text;
    return [];
  }

  #endPart(part: number): AnswerFrame[] {
    const { index, pending } = this.#parts.get(part) ?? {};
    this.#parts.delete(part);
    if (!pending) return [];
    return [this.#delta({ tool_calls: [{ index, custom: { input: textOfArguments(pending) } }] })];
  }

  #finish({ finishReason, nativeFinishReason, serviceTier }: Extract<AnswerEvent, { type: 'finish' }>): AnswerFrame {
    const choice = {
      index: 0,
      delta: this.#withRole({}),
      logprobs: null,
      finish_reason: finishReason,
      native_finish_reason: nativeFinishReason,
    };
    return this.#members({ choices: [choice], service_tier: serviceTier });
  }

  #delta(delta: object, logprobs: object | null = null): AnswerFrame {
    const ending = { finish_reason: null, native_finish_reason: null };
    return this.#members({ choices: [{ index: 0, delta: this.#withRole(delta), logprobs, ...ending }] });
  }

  /** The first delta says who speaks. */
  #withRole(delta: object): object {
    if (this.#hasRole) return delta;
    this.#hasRole = true;
    return { role: 'assistant', content: '', ...delta };
  }

  #members(members: object): AnswerFrame {
    return this.#chunk(JSON.stringify(defined(members)).slice(1, -1));
  }

  #chunk(members: string, isBilled = false): AnswerFrame {
    return chatChunk(this.#own, this.#created, members, isBilled);
  }
}
