import type { TokenLogprob } from '../../model/canonical-answer';
import { itemId, messageItem, refusalContent, textContent, writeLogprob, type ItemStatus } from './answer-items';
import type { EventSink } from './stream-events';
import type { ItemPlace, OpenItem, PartEvent, PartStart } from './open-item';
import { writeAnnotation } from './conversation-writer';

type TextDelta = Extract<PartEvent, { type: 'text-delta' }>;

/** One content of a message that is being streamed. */
interface Content {
  readonly kind: 'text' | 'refusal';
  readonly index: number;
  text: string;
  readonly annotations: object[];
  readonly logprobs: TokenLogprob[];
  isOpen: boolean;
}

/** A message item, which holds consecutive texts and refusals. */
export class OpenMessage implements OpenItem {
  written: object = {};
  readonly #id: string;
  readonly #contents: Content[] = [];
  readonly #byPart = new Map<number, Content>();
  #hasEnded = false;

  constructor(
    private readonly sink: EventSink,
    private readonly place: ItemPlace,
  ) {
    this.#id = itemId('msg', place.responseId, place.outputIndex);
  }

  get isIdle(): boolean {
    return this.#contents.every(({ isOpen }) => !isOpen);
  }

  takes({ kind }: PartStart): boolean {
    return !this.#hasEnded && (kind === 'text' || kind === 'refusal');
  }

  begin({ part, kind }: PartStart): void {
    if (this.#contents.length === 0) {
      const item = messageItem(this.#id, [], 'in_progress');
      this.sink.emit('response.output_item.added', { output_index: this.place.outputIndex, item });
    }
    const content: Content = {
      kind: kind === 'refusal' ? 'refusal' : 'text',
      index: this.#contents.length,
      text: '',
      annotations: [],
      logprobs: [],
      isOpen: true,
    };
    this.#contents.push(content);
    this.#byPart.set(part, content);
    this.sink.emit('response.content_part.added', { ...this.#where(content), part: writeContent(content) });
  }

  take(event: PartEvent): void {
    const content = this.#byPart.get(event.part);
    if (!content?.isOpen) return;
    if (event.type === 'text-delta') this.#add(content, event);
    else if (event.type === 'part-end') this.#close(content);
    else if (event.type === 'annotation') {
      const annotation = writeAnnotation(event.annotation);
      const index = content.annotations.push(annotation) - 1;
      this.sink.emit('response.output_text.annotation.added', {
        ...this.#where(content),
        annotation_index: index,
        annotation,
      });
    }
  }

  end(status: ItemStatus): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const content of this.#contents) this.#close(content);
    this.written = messageItem(this.#id, this.#contents.map(writeContent), status);
    this.sink.emit('response.output_item.done', { output_index: this.place.outputIndex, item: this.written });
  }

  #add(content: Content, { text, logprobs = [] }: TextDelta): void {
    content.text += text;
    for (const logprob of logprobs) content.logprobs.push(logprob);
    const where = this.#where(content);
    if (content.kind === 'refusal') this.sink.emit('response.refusal.delta', { ...where, delta: text });
    else this.sink.emit('response.output_text.delta', { ...where, delta: text, logprobs: logprobs.map(writeLogprob) });
  }

  #close(content: Content): void {
    if (!content.isOpen) return;
    content.isOpen = false;
    const where = this.#where(content);
    const { kind, text } = content;
    if (kind === 'refusal') this.sink.emit('response.refusal.done', { ...where, refusal: text });
    else {
      const logprobs = content.logprobs.map(writeLogprob);
      this.sink.emit('response.output_text.done', { ...where, text, logprobs });
    }
    this.sink.emit('response.content_part.done', { ...where, part: writeContent(content) });
  }

  #where({ index }: Content): object {
    return { item_id: this.#id, output_index: this.place.outputIndex, content_index: index };
  }
}

function writeContent({ kind, text, annotations, logprobs }: Content): object {
  return kind === 'refusal' ? refusalContent(text) : textContent(text, [...annotations], logprobs);
}
