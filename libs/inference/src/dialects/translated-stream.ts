import type { AppError } from '@libs/errors';
import type { AnswerEvent, ReasoningDelta } from '../model/canonical-answer';
import type { UpstreamStream } from '../wire/upstream-stream';
import { StreamMeter, countsOf } from './answer-billing';
import type { AnswerContext } from './dialect';
import { RelayedStream } from './relayed-stream';
import type { Bill, PieceWriter, StreamReader } from './translation';

type FinishEvent = Extract<AnswerEvent, { type: 'finish' }>;

/** The two ends of a translated stream. */
export interface StreamTranslation<Piece> {
  readonly reader: StreamReader;
  readonly writer: PieceWriter<Piece>;
}

/**
 * A streamed answer whose upstream and caller use different dialects. Upstream events are read into canonical events,
 * and these are written in the caller's dialect.
 *
 * The stream is committed by the first event with model output, or by `finish`. Earlier events (the start, early
 * counts) wait until then. The answer ends with `finish`; later events of the upstream are ignored.
 */
export class TranslatedStream<Piece> extends RelayedStream<Piece> {
  readonly #reader: StreamReader;
  readonly #writer: PieceWriter<Piece>;
  readonly #meter: StreamMeter;

  private constructor(upstream: UpstreamStream, context: AnswerContext, { reader, writer }: StreamTranslation<Piece>) {
    super(upstream, context);
    this.#reader = reader;
    this.#writer = writer;
    this.#meter = new StreamMeter(context);
  }

  /** Resolves at the first content; throws AppError if the stream ends without any. */
  static open<Piece>(
    upstream: UpstreamStream,
    context: AnswerContext,
    translation: StreamTranslation<Piece>,
  ): Promise<TranslatedStream<Piece>> {
    return new TranslatedStream(upstream, context, translation).opened();
  }

  protected override onEvent(data: Buffer, name: string | null): void {
    const events = this.#reader.read({ name, data: data.toString() });
    const { uses } = this.#reader;
    if (uses !== undefined) this.#meter.used(uses);
    this.#relay(events);
  }

  protected override onEnd(): void {
    this.#relay(this.#reader.end());
    if (!this.isDone) throw this.broken('the stream was cut');
  }

  #relay(events: readonly AnswerEvent[]): void {
    // Text that comes with the end, after the usage, was held back by the reader: the usage includes it.
    const isHeldBack = events.at(-1)?.type === 'finish';
    for (const event of events) {
      if (this.isDone) return;
      this.#note(event, isHeldBack);
      if (!this.isLeft) this.output.push(...this.#writer.write(event));
    }
  }

  #note(event: AnswerEvent, isHeldBack: boolean): void {
    if (event.type === 'start') this.upstreamId = event.upstreamId;
    else if (event.type === 'usage') this.#report(event);
    else if (event.type === 'finish') this.#finish(event);
    const texts = textsIn(event);
    if (texts === null) return;
    this.isCommitted = true;
    const count = (): void => this.#count(event, texts);
    if (isHeldBack) this.#meter.heldBack(count);
    else count();
  }

  #count(event: AnswerEvent, texts: readonly string[]): void {
    for (const text of texts) this.#meter.text.addText(text);
    if (event.type === 'part-start' && event.kind === 'generated-image') this.#meter.countMedia(1);
  }

  #report({ usage, units, isPromptOnly }: Extract<AnswerEvent, { type: 'usage' }>): void {
    const counts = countsOf(usage);
    this.#meter.report(isPromptOnly ? { ...counts, completion: null } : counts, units);
  }

  #finish({ finishReason, nativeFinishReason, serviceTier, failure }: FinishEvent): void {
    this.#meter.served(serviceTier);
    this.stop = { finishReason, nativeFinishReason };
    // Every dialect can report a failure, so an answer that the model gave up on becomes one.
    if (finishReason === 'error') throw failure ?? this.broken('the model stopped with an error');
    this.isDone = true;
  }

  protected override wholeBill(): Bill {
    return this.#meter.whole();
  }

  protected override partialBill(): Bill {
    return this.#meter.partial();
  }

  protected override leftBill(isWhole: boolean): Bill {
    const uses = this.#reader.usesWithBegun?.();
    if (uses !== undefined) this.#meter.used(uses);
    return this.#meter.left(isWhole);
  }

  protected override get keptBytes(): number {
    return (this.#writer.keptBytes ?? 0) + (this.#reader.keptBytes ?? 0);
  }

  protected override get writtenUnits(): number {
    return this.#meter.text.units;
  }

  protected override finalOutput(bill: Bill): readonly Piece[] {
    return this.#writer.complete(bill);
  }

  protected override failureOutput(error: AppError, bill: Bill): readonly Piece[] {
    return this.#writer.fail(error, bill);
  }
}

/** Returns the texts of an event; null for an event without output of the model. */
function textsIn(event: AnswerEvent): readonly string[] | null {
  switch (event.type) {
    case 'text-delta':
      return [event.text];
    case 'reasoning-delta':
      return thoughtsIn(event.delta);
    case 'tool-arguments-delta':
      return [event.arguments];
    case 'part-start':
      return textsAtStart(event);
    case 'annotation':
    case 'finish':
      return [];
    default:
      return null;
  }
}

function thoughtsIn({ text = '', summary = '' }: ReasoningDelta): readonly string[] {
  return [text, summary];
}

function textsAtStart(event: Extract<AnswerEvent, { type: 'part-start' }>): readonly string[] | null {
  if (event.kind === 'tool-call') return [event.name];
  return event.kind === 'generated-image' ? [] : null;
}
