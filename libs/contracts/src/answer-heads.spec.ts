import { AnswerHeads } from './answer-heads';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

describe(AnswerHeads.name, () => {
  /** The problem, when the bytes come all at once and in pieces of every small size. */
  const problemOf = (text: string): string | null => {
    const bytes = Buffer.from(text, 'latin1');
    const found = [bytes.length, 1, 2, 3, 5, 1_000].map((size) => {
      const heads = new AnswerHeads();
      for (let at = 0; at < bytes.length; at += size) {
        const problem = heads.findProblem(bytes.subarray(at, at + size));
        if (problem !== null) return problem;
      }
      return null;
    });
    expect(new Set(found).size).toBe(1);
    return found[0]!;
  };

  it.each([
    ['with a length', `${OK}Content-Length: 5\r\n\r\nhello`],
    ['without a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'],
    ['of length 0', `${OK}content-length:0\r\n\r\n`],
    ['in chunks', `${CHUNKED}5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n`],
    ['with trailers', `${CHUNKED}1\r\na\r\n0\r\nX: y\r\nZ: 1\r\n\r\n`],
    ['after early hints', `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 2\r\n\r\n{}`],
  ])('follows answers %s on one connection', (_what, answer) => {
    expect(problemOf(answer.repeat(40))).toBeNull();
    // The bytes behind them are taken for a head, so it knew where each ended.
    expect(problemOf(`${answer.repeat(3)}${OK}${'a:\r\n'.repeat(300)}`)).toContain('too long');
  });

  it('does not take a body for a head', () => {
    const lines = ':\n\r\n\r\n'.repeat(1_000);
    expect(problemOf(`${OK}Content-Length: ${lines.length}\r\n\r\n${lines}`)).toBeNull();
    expect(problemOf(`${CHUNKED}${lines.length.toString(16)}\r\n${lines}\r\n0\r\n\r\n`)).toBeNull();
    expect(problemOf(`${OK}Connection: close\r\n\r\n${lines}`)).toBeNull();
    expect(problemOf(`${OK}Transfer-Encoding: gzip\r\n\r\n${lines}`)).toBeNull();
  });

  it.each([
    ['a head of many lines', `${OK}${'a:\r\n'.repeat(300)}`],
    ['a long header', `${OK}X: ${'x'.repeat(17_000)}`],
    ['a long status', `HTTP/1.1 200 ${'x'.repeat(17_000)}`],
    ['a trailer of many lines', `${CHUNKED}0\r\n${'a:\r\n'.repeat(300)}`],
    ['a long trailer', `${CHUNKED}0\r\nX: ${'x'.repeat(17_000)}`],
    ['a second head of many lines', `${OK}Content-Length: 1\r\n\r\na${OK}${'a:\r\n'.repeat(300)}`],
  ])('finds %s', (_what, text) => {
    expect(problemOf(text)).toBe('a head or trailer of an answer is too long');
  });

  it.each(['-100000', '1e3', 'x', '', '99999999999999999999'])('leaves the length "%s" to the client', (length) => {
    expect(problemOf(`${OK}Content-Length: ${length}\r\n\r\n{}`)).toBeNull();
  });

  it.each([
    ['an empty coding', `Transfer-Encoding: \r\nTransfer-Encoding: chunked`],
    ['a coding and a length', `Content-Length: 5\r\nTransfer-Encoding: chunked`],
    ['two codings', `Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked`],
    ['two lengths', `Content-Length: 2\r\ncontent-length: 2`],
  ])('refuses answers that say twice how long they are: %s', (_what, headers) => {
    expect(problemOf(`${OK}${headers}\r\n\r\n`)).toBe('an answer says more than once how long it is');
  });

  it.each([
    ['goes on in a second line', 'Transfer-Encoding:\r\n chunked'],
    ['has an empty first line', 'Content-Length:\r\n\t5'],
    ['ends without a carriage return', 'X: y\nTransfer-Encoding: chunked'],
  ])('refuses a header that %s', (_what, header) => {
    expect(problemOf(`${OK}${header}\r\n\r\n`)).toBe('a head of an answer has lines that are not valid');
  });

  it('follows answers whose length begins with zeros', () => {
    const answer = `${OK}Content-Length: ${'0'.repeat(20)}2\r\n\r\n{}`;
    expect(problemOf(answer.repeat(3))).toBeNull();
    expect(problemOf(`${answer}${OK}${'a:\r\n'.repeat(300)}`)).toContain('too long');
  });

  it('finds heads of status 1xx without end', () => {
    expect(problemOf('HTTP/1.1 102 Processing\r\n\r\n'.repeat(100))).toBeNull();
    expect(problemOf('HTTP/1.1 102 Processing\r\n\r\n'.repeat(101))).toContain('1xx');
  });

  it.each(['HTTP/1.1 000 X', 'HTTP/1.1 20 OK', 'HTTP/2.0 200 OK', 'ICY 200 OK', ''])(
    'finds no status in "%s"',
    (line) => {
      expect(problemOf(`${line}\r\nX: y\r\n\r\n`)).toBe('an answer has no status');
    },
  );

  it('finds long extensions of chunks and chunks without a length', () => {
    expect(problemOf(`${CHUNKED}1;${'x'.repeat(2_000)}`)).toContain('extensions');
    for (const line of ['zz\r\n', 'ffffffffffffffff\r\n', '1 \r\n', '-1\r\n']) {
      expect(problemOf(CHUNKED + line)).toBe('a chunk has no length');
    }
  });
});
