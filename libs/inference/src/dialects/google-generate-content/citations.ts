import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { Annotation } from '../../model/conversation';

/** Returns the sources of a candidate: those that support its texts, and those that it quotes. */
export function sourcesOf(candidate: JsonObject): Source[] {
  return [...readGrounding(candidate), ...readCitations(candidate)];
}

/**
 * Returns the sources of a text. The upstream's offsets count bytes of UTF-8; those of annotations count UTF-16 units.
 */
export function annotationsOf(sources: readonly Source[], text: string): Annotation[] {
  if (sources.length === 0) return [];
  const bytes = Buffer.from(text);
  const spans = sources.map(({ segment }) => [
    numberOf(segment['startIndex']) ?? 0,
    numberOf(segment['endIndex']) ?? bytes.length,
  ]);
  const unitsAt = unitsAtBytes(bytes, spans.flat());
  return sources.map(({ url, title }, index) => {
    const [startIndex, endIndex] = spans[index]!.map((offset) => unitsAt.get(offset)!);
    return { type: 'url-citation', url, title, startIndex: startIndex!, endIndex: endIndex! };
  });
}

/** Returns whether a candidate or chunk contains sources. */
export function hasSources({ groundingMetadata, citationMetadata }: JsonObject): boolean {
  return groundingMetadata !== undefined || citationMetadata !== undefined;
}

/** A range of a text, with its source. */
export interface Source {
  readonly segment: JsonObject;
  readonly url: string;
  readonly title: string;
}

function readGrounding(candidate: JsonObject): Source[] {
  const metadata = objectOf(candidate['groundingMetadata']);
  const chunks = Array.isArray(metadata['groundingChunks']) ? metadata['groundingChunks'] : [];
  return objectsOf(metadata['groundingSupports']).flatMap((support) => {
    const segment = objectOf(support['segment']);
    const indices = support['groundingChunkIndices'];
    if (!Array.isArray(indices)) return [];
    return indices.flatMap((index) => readChunk(chunks[numberOf(index) ?? -1], segment));
  });
}

/** Reads a source: a web page, a document of the caller, or a place on a map. */
function readChunk(chunk: unknown, segment: JsonObject): Source[] {
  const { web, retrievedContext, maps } = objectOf(chunk);
  const source = objectOf(web ?? retrievedContext ?? maps);
  const url = stringOf(source['uri']);
  return url === undefined ? [] : [{ segment, url, title: stringOf(source['title']) ?? '' }];
}

/** Reads the citations, which the two upstreams have under different names. */
function readCitations(candidate: JsonObject): Source[] {
  const metadata = objectOf(candidate['citationMetadata']);
  const citations = [...objectsOf(metadata['citationSources']), ...objectsOf(metadata['citations'])];
  return citations.flatMap((segment) => {
    const url = stringOf(segment['uri']);
    return url === undefined ? [] : [{ segment, url, title: stringOf(segment['title']) ?? '' }];
  });
}

/** Returns the UTF-16 units before each of the offsets, in one pass over the text. */
function unitsAtBytes(bytes: Buffer, offsets: readonly number[]): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  let at = 0;
  let units = 0;
  for (const offset of [...new Set(offsets)].sort((a, b) => a - b)) {
    for (; at < Math.min(offset, bytes.length); at += 1) units += unitsOf(bytes[at]!);
    found.set(offset, units);
  }
  return found;
}

/** Returns the UTF-16 units of the character that begins with this byte; 0 for a byte inside a character. */
function unitsOf(byte: number): number {
  if ((byte & 0xc0) === 0x80) return 0;
  return byte >= 0xf0 ? 2 : 1;
}
