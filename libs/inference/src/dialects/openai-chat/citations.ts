import { defined, numberOf, objectOf, objectsOf, stringOf } from '@libs/json';
import type { Annotation } from '../../model/conversation';

/** Returns the links that a message or delta cites. Other kinds of annotations are left out. */
export function readAnnotations(value: unknown): Annotation[] {
  return objectsOf(value).flatMap((annotation) => {
    const citation = objectOf(annotation['url_citation']);
    const url = stringOf(citation['url']);
    if (annotation['type'] !== 'url_citation' || url === undefined) return [];
    return [
      defined({
        type: 'url-citation' as const,
        url,
        title: stringOf(citation['title']) ?? '',
        startIndex: numberOf(citation['start_index']) ?? 0,
        endIndex: numberOf(citation['end_index']) ?? 0,
        content: stringOf(citation['content']),
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
