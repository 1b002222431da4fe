import { MalformedJson } from '@libs/json';
import { eventData } from './event-data';

const dataOf = (text: string): string => eventData(Buffer.from(text)).toString();

describe(eventData.name, () => {
  it.each([
    ['{"a":1}', '{"a":1}'],
    ['{\n  "a": "\\n",\n  "b\\"": [\n1]\n}', '{   "a": "\\n",   "b\\"": [ 1] }'],
    ['\n {"ü": "😀"}\n\n', '{"ü": "😀"}'],
    [' [DONE] ', '[DONE]'],
    ['', ''],
    ['\n\n \t', ''],
  ])('makes one line of %j', (text, line) => {
    expect(dataOf(text)).toBe(line);
  });

  it('leaves what it is given as it is', () => {
    const data = Buffer.from('{\n}');
    eventData(data);
    expect(data.toString()).toBe('{\n}');
  });

  it.each(['{"a":"b\nc"}', '{"a\n":1}', '{"a":"\\\\\n"}', '{"a":"b\nc'])('refuses %j, which is no JSON', (text) => {
    expect(() => dataOf(text)).toThrow(MalformedJson);
  });
});
