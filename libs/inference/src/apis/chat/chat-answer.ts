import { objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { citedSpan, type AnswerSource, type ReadFile } from '../answer-source';
import { textPlace, type AnswerView } from '../answer-view';

export function chatSource(source: AnswerSource, text = ''): object {
  const { startIndex, endIndex } = citedSpan(source, text);
  const { url, title, content } = source;
  const cited = { url, title, ...(content !== undefined && { content }), start_index: startIndex, end_index: endIndex };
  return { type: 'url_citation', url_citation: cited };
}

export function chatFile({ hash, name, text }: ReadFile): object {
  return { type: 'file', file: { hash, ...(name !== null && { name }), content: [{ type: 'text', text }] } };
}

/** Returns the files in the annotations of an earlier answer that a caller sent back. */
export function filesIn(message: JsonObject): readonly ReadFile[] {
  return objectsOf(message['annotations']).flatMap(({ type, file }) => {
    const { hash, name, content } = objectOf(file);
    if (type !== 'file' || typeof hash !== 'string') return [];
    const texts = objectsOf(content).flatMap((part) => (part['type'] === 'text' ? (stringOf(part['text']) ?? []) : []));
    return texts.length === 0 ? [] : [{ hash, name: stringOf(name) ?? null, text: texts.join('\n\n') }];
  });
}

/** Returns a message without such annotations: they are for the gateway alone. */
export function withoutFiles({ annotations, ...message }: JsonObject): JsonObject {
  const others = objectsOf(annotations).filter(({ type }) => type !== 'file');
  return others.length === 0 ? message : { ...message, annotations: others };
}

export const chatAnswer: AnswerView = {
  member: 'choices',
  textsOf: (choices) => choices.flatMap(({ message }) => textPlace(objectOf(message), 'content')),
  citationsMember: 'annotations',
  writeSource: chatSource,
  writeFile: chatFile,
};
