import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { CharacterPlaces } from './character-places';
import type { Annotation } from '../../model/conversation';

/** A citation and the text that it is about. */
export interface PlacedCitation {
  readonly citation: JsonObject;
  readonly place: 'content' | 'plan';
  /** Index of the content; null if the upstream does not say. */
  readonly contentIndex: number | null;
}

/** Returns where a citation belongs; null for a citation in a thought, which an answer cannot hold. */
export function placeCitation(citation: JsonObject): PlacedCitation | null {
  const { type } = citation;
  if (type === 'THINKING_CONTENT') return null;
  const contentIndex = numberOf(citation['content_index']) ?? null;
  return { citation, place: type === 'PLAN' ? 'plan' : 'content', contentIndex };
}

/**
 * Returns the links among the sources of a citation of `text`; sources without a URL are left out.
 *
 * @param places of this text or of its beginning
 */
export function readCitation(citation: JsonObject, text: string, places: CharacterPlaces): Annotation[] {
  const [startIndex, endIndex] = spanOf(citation, text, places);
  return objectsOf(citation['sources']).flatMap((source) => {
    const shown = objectOf(source['type'] === 'tool' ? source['tool_output'] : source['document']);
    const url = stringOf(shown['url']);
    if (url === undefined || !/^https?:\/\//i.test(url)) return [];
    const content = stringOf(shown['text']) ?? stringOf(shown['snippet']);
    const title = stringOf(shown['title']) ?? '';
    return [{ type: 'url-citation' as const, url, title, startIndex, endIndex, ...(content && { content }) }];
  });
}

/** Returns a citation's span in UTF-16 units. The upstream counts characters, which differs after an emoji. */
function spanOf(citation: JsonObject, text: string, places: CharacterPlaces): [number, number] {
  const start = numberOf(citation['start']) ?? 0;
  const end = numberOf(citation['end']) ?? start;
  const cited = stringOf(citation['text']);
  if (cited === undefined || text.slice(start, end) === cited) return [start, end];
  return [places.unitAt(text, start), places.unitAt(text, end)];
}
