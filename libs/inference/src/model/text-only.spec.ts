import type { Part } from './conversation';
import { KINDS_OF_PARTS, MEDIA_TYPES, PICTURE_ITEM } from './media-places';
import { findMedia } from './text-only';

type MediaPart = Exclude<Part['type'], 'text' | 'refusal' | 'reasoning' | 'tool-call' | 'tool-result'>;
/** Add a new kind of part here, and in `media-places.ts`. */
const CANONICAL: Readonly<Record<MediaPart, true>> = { image: true, audio: true, video: true, file: true };

const types = [...MEDIA_TYPES].flatMap((type) => type ?? []);

describe(findMedia.name, () => {
  it('knows every kind of part that is counted as media', () => {
    for (const type of [...KINDS_OF_PARTS.keys(), PICTURE_ITEM, ...Object.keys(CANONICAL)]) {
      expect(types).toContain(type);
    }
  });

  it.each(types)('finds %s wherever it stands', (type) => {
    const part = { type, result: 'AAAA' };
    const text = { role: 'user', content: 'Hi' };
    expect(findMedia({ input: [text, part] })).toBe('input[1]');
    expect(findMedia({ input: [{ type: 'computer_call_output', output: part }] })).toBe('input[0]');
    expect(findMedia({ input: [{ type: 'code_interpreter_call', outputs: [part] }] })).toBe('input[0]');
    expect(findMedia({ system: [part], messages: [] })).toBe('system[0]');
    const result = { type: 'tool_result', content: [{ type: 'text', text: 'a' }, part] };
    expect(findMedia({ messages: [text, { role: 'user', content: [result] }] })).toBe('messages[1]');
  });

  it('finds pictures and sound beside the content of a message', () => {
    expect(findMedia({ messages: [{ role: 'assistant', images: [{}] }] })).toBe('messages[0]');
    expect(findMedia({ messages: [{ role: 'assistant', audio: { id: 'a' } }] })).toBe('messages[0]');
    expect(findMedia({ messages: [{ role: 'assistant', images: [], audio: null }] })).toBeNull();
  });

  it('takes types in the JSON of tools for text', () => {
    const use = { type: 'tool_use', input: { type: 'image', source: 'disk' } };
    expect(findMedia({ messages: [{ role: 'assistant', content: [use] }], input: 'image', tools: [{}] })).toBeNull();
    expect(findMedia({ input: [{ type: 'additional_tools', tools: [{ type: 'file' }] }] })).toBeNull();
  });

  it('looks at texts that are nested without end', () => {
    let part: object = { type: 'image' };
    for (let depth = 0; depth < 100_000; depth += 1) part = { content: [part] };
    expect(findMedia({ input: [part] })).toBe('input[0]');
  });
});
