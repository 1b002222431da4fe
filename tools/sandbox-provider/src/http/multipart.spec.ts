import { readMultipart } from './multipart';
import type { Call } from './reply';

const call = (body: string | Buffer, contentType = 'multipart/form-data; boundary=XX'): Call => ({
  headers: { 'content-type': contentType },
  query: new URLSearchParams(),
  id: '',
  body: Buffer.from(body),
});

const part = (name: string, value: string): string =>
  `--XX\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

describe(readMultipart.name, () => {
  it('reads what the fetch of this runtime writes', async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 31) % 256));
    const form = new FormData();
    form.set('model', 'whisper 1 äöü');
    form.append('timestamp_granularities[]', 'word');
    form.append('timestamp_granularities[]', 'segment');
    form.set('file', new Blob([bytes], { type: 'audio/wav' }), 'a "quoted" name.wav');
    const encoded = new Response(form);
    const type = encoded.headers.get('content-type') ?? '';
    const read = readMultipart(call(Buffer.from(await encoded.arrayBuffer()), type));
    expect(read.field('model')).toBe('whisper 1 äöü');
    expect(read.list('timestamp_granularities')).toEqual(['word', 'segment']);
    const file = read.file('file');
    expect(file).toMatchObject({ filename: 'a "quoted" name.wav', contentType: 'audio/wav' });
    expect(file.bytes.equals(bytes)).toBe(true);
  });

  it('reads values that hold line ends and what looks like a boundary', () => {
    const read = readMultipart(call(`${part('a', '\r\n--X\r\n\r\n--')}${part('b', '')}--XX--\r\n`));
    expect(read.field('a')).toBe('\r\n--X\r\n\r\n--');
    expect(read.field('b')).toBe('');
  });

  it('passes over a preamble, an epilogue and blanks behind a boundary', () => {
    const read = readMultipart(call(`preamble\r\n${part('a', '1').replace('--XX', '--XX \t')}--XX--\r\nepilogue`));
    expect(read.field('a')).toBe('1');
  });

  it('reads a quoted boundary', () => {
    expect(readMultipart(call(`${part('a', '1')}--XX--`, 'multipart/form-data; boundary="XX"')).field('a')).toBe('1');
  });

  it.each([
    ['no boundary', part('a', '1'), 'multipart/form-data'],
    ['another content type', part('a', '1'), 'application/json'],
    ['an empty body', '', undefined],
    ['a body without its boundary', 'hello', undefined],
    ['no closing boundary', part('a', '1'), undefined],
    ['a part cut off in its headers', '--XX\r\nContent-Dispo', undefined],
    ['a part without headers', '--XX\r\n\r\nvalue\r\n--XX--', undefined],
    ['a part without a name', '--XX\r\nContent-Disposition: form-data\r\n\r\n1\r\n--XX--', undefined],
    ['a hundred and one parts', `${part('a', '1').repeat(101)}--XX--`, undefined],
  ])('refuses %s', (_, body, contentType) => {
    expect(() => readMultipart(call(body, contentType))).toThrow(expect.objectContaining({ status: 400 }));
  });
});
