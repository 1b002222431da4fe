import type { Annotation } from '../../model/conversation';
import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '../../json/loose-values';

/**
 * The sources of a text: those that grounded it, and those it recites. The upstream counts its offsets in bytes of
 * UTF-8, an annotation counts UTF-16 units.
 */
export function readSources(
  candidate: JsonObject,
  text: string,
  isOfText: (segment: JsonObject) => boolean,
): Annotation[] {
  const bytes = Buffer.from(text);
  return [...readGrounding(candidate, isOfText), ...readCitations(candidate)].map(({ segment, url, title }) => ({
    type: 'url-citation',
    url,
    title,
    startIndex: unitsAt(bytes, numberOf(segment['startIndex']) ?? 0),
    endIndex: unitsAt(bytes, numberOf(segment['endIndex']) ?? bytes.length),
  }));
}

/** Whether a candidate or chunk says anything about sources. */
export function hasSources({ groundingMetadata, citationMetadata }: JsonObject): boolean {
  return groundingMetadata !== undefined || citationMetadata !== undefined;
}

interface Source {
  readonly segment: JsonObject;
  readonly url: string;
  readonly title: string;
}

function readGrounding(candidate: JsonObject, isOfText: (segment: JsonObject) => boolean): Source[] {
  const metadata = objectOf(candidate['groundingMetadata']);
  const chunks = Array.isArray(metadata['groundingChunks']) ? metadata['groundingChunks'] : [];
  return objectsOf(metadata['groundingSupports']).flatMap((support) => {
    const segment = objectOf(support['segment']);
    const indices = support['groundingChunkIndices'];
    if (!Array.isArray(indices) || !isOfText(segment)) return [];
    return indices.flatMap((index) => readChunk(chunks[Number(index)], segment));
  });
}

/** A page, a document of the caller's own, or a place. */
function readChunk(chunk: unknown, segment: JsonObject): Source[] {
  const { web, retrievedContext, maps } = objectOf(chunk);
  const source = objectOf(web ?? retrievedContext ?? maps);
  const url = stringOf(source['uri']);
  return url === undefined ? [] : [{ segment, url, title: stringOf(source['title']) ?? '' }];
}

/** What both upstreams mean by the same, under two names. */
function readCitations(candidate: JsonObject): Source[] {
  const metadata = objectOf(candidate['citationMetadata']);
  const citations = [...objectsOf(metadata['citationSources']), ...objectsOf(metadata['citations'])];
  return citations.flatMap((segment) => {
    const url = stringOf(segment['uri']);
    return url === undefined ? [] : [{ segment, url, title: stringOf(segment['title']) ?? '' }];
  });
}

function unitsAt(bytes: Buffer, offset: number): number {
  return bytes.toString('utf8', 0, Math.min(Math.max(offset, 0), bytes.length)).length;
}
