import { findValue, numberOf, spliceMembers, elementsOf, objectOf, stringOf, type JsonObject } from '@libs/json';
import { dataEvent, frameData, frameOf, withFrameData, type AnswerFrame } from '../../model/answer-frame';
import type { AnswerSource } from '../answer-source';
import type { StreamCiter } from '../stream-events';
import { responseSource } from './response-answer';

const ANNOTATION_ADDED = 'response.output_text.annotation.added';
const TEXT_DONE = 'response.output_text.done';
const PART_DONE = 'response.content_part.done';
const ITEM_DONE = 'response.output_item.done';

/** The text that cites, and its citations. */
interface Cited {
  readonly itemId: unknown;
  readonly outputIndex: unknown;
  readonly contentIndex: number;
  readonly citations: readonly object[];
}

/**
 * Cites sources in the first text of a streamed response: by separate events when the text is complete, and in all
 * later events that contain the text. The inserted events shift the sequence numbers of all later events.
 */
export class ResponsesCiter implements StreamCiter {
  /** The upstream's own annotations, by the position of their text. */
  readonly #known = new Map<string, number>();
  #cited: Cited | null = null;
  #added = 0;

  constructor(private readonly sources: readonly AnswerSource[]) {}

  cite(frame: AnswerFrame): readonly AnswerFrame[] {
    const data = frameData(frame);
    if (data === null) return [frame];
    const { type } = frame.event;
    const before = this.#cited === null ? this.#look(type, data) : [];
    return this.#cited === null ? [frame] : [...before, withFrameData(frame, this.#shown(type, data, this.#cited))];
  }

  /** Returns the citation events to send before this one, if this is the first event that holds a whole text. */
  #look(type: string | null, data: Buffer): readonly AnswerFrame[] {
    if (type === TEXT_DONE) return this.#announce(parsed(data));
    if (type === ITEM_DONE) this.#findIn(parsed(data));
    else if (type === ANNOTATION_ADDED) {
      const place = placeOf(parsed(data));
      this.#known.set(place, (this.#known.get(place) ?? 0) + 1);
    }
    return [];
  }

  #announce(said: JsonObject): readonly AnswerFrame[] {
    const { item_id, output_index, content_index, sequence_number, text } = said;
    const citations = this.#cite(stringOf(text) ?? '');
    this.#cited = {
      itemId: item_id,
      outputIndex: output_index,
      contentIndex: numberOf(content_index) ?? -1,
      citations,
    };
    const known = this.#known.get(placeOf(said)) ?? 0;
    this.#added = citations.length;
    return citations.map((annotation, index) => {
      const number = (numberOf(sequence_number) ?? 0) + index;
      const place = { item_id, output_index, content_index, annotation_index: known + index };
      const event = { type: ANNOTATION_ADDED, sequence_number: number, ...place, annotation };
      return frameOf(JSON.stringify(event), dataEvent(ANNOTATION_ADDED));
    });
  }

  /** Finds the text in a finished message, because some upstreams send no event for the end of a text. */
  #findIn({ output_index: outputIndex, item }: JsonObject): void {
    const { type, id: itemId, content } = objectOf(item);
    const contentIndex = elementsOf(content).findIndex((part) => part['type'] === 'output_text');
    if (type !== 'message' || contentIndex === -1) return;
    const citations = this.#cite(stringOf(elementsOf(content)[contentIndex]!['text']) ?? '');
    this.#cited = { itemId, outputIndex, contentIndex, citations };
  }

  #cite(text: string): readonly object[] {
    return this.sources.map((source) => responseSource(source, text));
  }

  /** Returns the data of an event with the citations added. */
  #shown(type: string | null, data: Buffer, cited: Cited): Buffer {
    const numbered = this.#renumbered(data);
    if (type === PART_DONE) return inPart(numbered, cited);
    if (type === ITEM_DONE) return inItem(numbered, cited);
    return inResponse(numbered, cited);
  }

  #renumbered(data: Buffer): Buffer {
    const number = Number(findValue(data, ['sequence_number'])?.toString());
    if (this.#added === 0 || !Number.isSafeInteger(number)) return data;
    return spliceMembers(data, { set: { sequence_number: String(number + this.#added) } });
  }
}

function parsed(data: Buffer): JsonObject {
  return objectOf(JSON.parse(data.toString()));
}

function placeOf({ output_index: output, content_index: content }: JsonObject): string {
  return JSON.stringify([output, content]);
}

function inPart(data: Buffer, cited: Cited): Buffer {
  const { output_index: outputIndex, content_index: contentIndex, part } = parsed(data);
  if (outputIndex !== cited.outputIndex || contentIndex !== cited.contentIndex) return data;
  return spliceMembers(data, { set: { part: JSON.stringify(citing(objectOf(part), cited)) } });
}

function inItem(data: Buffer, cited: Cited): Buffer {
  const { output_index: outputIndex, item } = parsed(data);
  if (outputIndex !== cited.outputIndex) return data;
  return spliceMembers(data, { set: { item: JSON.stringify(itemCiting(objectOf(item), cited)) } });
}

function inResponse(data: Buffer, cited: Cited): Buffer {
  const response = findValue(data, ['response']);
  const listed = response && findValue(response, ['output']);
  if (response === undefined || listed === undefined) return data;
  const output = elementsOf(JSON.parse(listed.toString()));
  const named = output.findIndex(({ id }) => id === cited.itemId);
  const at = named === -1 ? Number(cited.outputIndex) : named;
  if (output[at]?.['type'] !== 'message') return data;
  const items = output.map((item, index) => (index === at ? itemCiting(item, cited) : item));
  return spliceMembers(data, {
    set: { response: spliceMembers(response, { set: { output: JSON.stringify(items) } }) },
  });
}

function itemCiting(item: JsonObject, cited: Cited): JsonObject {
  const content = elementsOf(item['content']).map((part, index) =>
    index === cited.contentIndex ? citing(part, cited) : part,
  );
  return { ...item, content };
}

function citing(part: JsonObject, { citations }: Cited): JsonObject {
  return { ...part, annotations: [...elementsOf(part['annotations']), ...citations] };
}
