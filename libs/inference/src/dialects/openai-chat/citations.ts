import { defined, numberOf, objectOf, objectsOf, stringOf } from '@libs/json';
import type { Annotation } from '../../model/conversation';

/** Kinds of annotations that cite a page. The second has no position; its text is in `cited_text`. */
const CITATIONS: readonly string[] = ['url_citation', 'web_search_citation'];

/** Returns the links that a message or delta cites. Other kinds of annotations are left out. */
export function readAnnotations(value: unknown): Annotation[] {
  return objectsOf(value).flatMap((annotation) => {
    const type = stringOf(annotation['type']) ?? '';
    const citation = objectOf(annotation[type]);
    const url = stringOf(citation['url']);
    if (!CITATIONS.includes(type) || url === undefined) return [];
    return [
      defined({
        type: 'url-citation' as const,
        url,
        title: stringOf(citation['title']) ?? '',
        startIndex: numberOf(citation['start_index']) ?? 0,
        endIndex: numberOf(citation['end_index']) ?? 0,
        content: stringOf(citation['content']) ?? stringOf(citation['cited_text']),
      }),
    ];
  });
}

export function writeAnnotation({ url, title, startIndex, endIndex, content }: Annotation): object {
  const citation = defined({ url, title, start_index: startIndex, end_index: endIndex, content });
  return { type: 'url_citation', url_citation: citation };
}

/** Returns an annotation with its offsets moved by a number of characters. */
export function shifted(annotation: Annotation, by: number): Annotation {
  return { ...annotation, startIndex: annotation.startIndex + by, endIndex: annotation.endIndex + by };
}
