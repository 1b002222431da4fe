import { AppError } from '@libs/errors';
import { estimatePrompt, turnBody } from '@libs/inference';
import { measuredPrompt, MeasuredPdfs, PdfMeter } from './pdf-meter';
import type { PdfText } from './pdf-text';
import { outsideWork } from './testing/outside-work';

const UNMEASURED = 1_000_000;
const fileOf = (name: string): string => Buffer.from(`%PDF-1.7 ${name}`).toString('base64');
const bodyOf = (...names: readonly string[]): Buffer =>
  Buffer.from(
    JSON.stringify({
      messages: names.map((name) => ({
        role: 'user',
        content: [{ type: 'file', file: { file_data: `data:application/pdf;base64,${fileOf(name)}` } }],
      })),
    }),
  );

/** A reader that knows files by their names. */
class FakeReader {
  readonly read = async (bytes: Uint8Array): Promise<PdfText> => {
    const name = Buffer.from(bytes).toString().slice('%PDF-1.7 '.length);
    this.names.push(name);
    await this.onRead?.();
    if (name === 'broken') throw new AppError('invalid_request', 'The PDF file cannot be read');
    if (name === 'late') throw new AppError('provider_overloaded', 'Too many PDF files are being read');
    return { pages: 2, title: null, text: 'a text '.repeat(100), actualText: '', isCut: name === 'cut' };
  };
  readonly names: string[] = [];
  onRead: (() => Promise<void> | void) | null = null;
}

describe(PdfMeter.name, () => {
  let reader: FakeReader;
  let measured: MeasuredPdfs;

  beforeEach(() => {
    reader = new FakeReader();
    measured = new MeasuredPdfs();
  });

  const measure = (body: Buffer, work = outsideWork(), nowMs = () => 0): Promise<void> =>
    new PdfMeter(reader, nowMs).measure(measured, estimatePrompt(body), body, work);

  it('counts the text and the pages of a file', async () => {
    const body = bodyOf('a');
    await measure(body);
    const tokens = measuredPrompt(body, measured).tokens;
    expect(measuredPrompt(body).tokens).toBeGreaterThan(UNMEASURED);
    expect(tokens).toBeGreaterThan(6_000 + 200);
    expect(tokens).toBeLessThan(6_000 + 400);
    const settled = measured.settle(estimatePrompt(body), body);
    expect(settled).toMatchObject({ tokens, pdfs: [] });
    expect(settled.likelyTokens).toBeGreaterThan(tokens - 10);
  });

  it('knows a file again in the turns of a tool loop, also where the caller has escaped its slashes', async () => {
    const data = Buffer.from('%PDF-1.7 \u00ff\u00ff\u00ff\u00ff', 'latin1').toString('base64');
    expect(data).toContain('/');
    const part = { type: 'file', file: { file_data: `data:application/pdf;base64,${data}` } };
    const written = JSON.stringify({ messages: [{ role: 'user', content: [part] }] });
    const body = Buffer.from(written.replaceAll('/', '\\/'));
    await measure(body);
    const source = { kind: 'base64', mediaType: 'application/pdf', data } as const;
    const turn = turnBody({ messages: [{ role: 'user', parts: [{ type: 'file', source }] }], tools: [] });
    const tokens = measuredPrompt(turn, measured).tokens;
    expect(measuredPrompt(turn).tokens).toBeGreaterThan(200_000);
    expect(Math.abs(tokens - measuredPrompt(body, measured).tokens)).toBeLessThan(20);
  });

  it.each(['broken', 'late', 'cut'])('leaves a file that is %s as it was counted', async (name) => {
    const body = bodyOf(name);
    await measure(body);
    expect(measuredPrompt(body, measured).tokens).toBe(measuredPrompt(body).tokens);
    expect(measured.settle(estimatePrompt(body), body).pdfs).toEqual([]);
  });

  it('reads each file once, also in the bodies of later turns', async () => {
    await measure(bodyOf('a', 'b', 'a'));
    await measure(bodyOf('b', 'c'));
    expect(reader.names).toEqual(['a', 'b', 'c']);
    expect(measuredPrompt(bodyOf('c', 'a'), measured).tokens).toBeLessThan(13_000);
    expect(measuredPrompt(bodyOf('c', 'd'), measured).tokens).toBeGreaterThan(UNMEASURED);
  });

  it('begins no further file when the time of a request is over', async () => {
    let nowMs = 0;
    reader.onRead = () => void (nowMs += 3_000);
    await measure(bodyOf('a', 'b', 'c'), outsideWork(), () => nowMs);
    expect(reader.names).toEqual(['a', 'b']);
  });

  it('measures twenty files of a request at most', async () => {
    await measure(bodyOf(...Array.from({ length: 25 }, (_, index) => `file ${index}`)));
    expect(reader.names).toHaveLength(20);
  });

  it('ends with the request', async () => {
    const caller = new AbortController();
    reader.onRead = () => {
      caller.abort(new Error('left'));
      throw new Error('killed');
    };
    await expect(measure(bodyOf('a', 'b'), outsideWork({ signal: caller.signal }))).rejects.toThrow('left');
    expect(reader.names).toEqual(['a']);
  });

  it('gives the memory of a file back', async () => {
    const taken: number[] = [];
    const memory = { add: (bytes: number) => void taken.push(bytes), give: (bytes: number) => void taken.push(-bytes) };
    await measure(bodyOf('a', 'broken'), outsideWork({ memory: memory as never }));
    expect(taken.length).toBeGreaterThan(3);
    expect(taken.reduce((sum, bytes) => sum + bytes, 0)).toBe(0);
  });
});
