import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@libs/errors';
import { fieldPart, filePart, rawForm, waveFile, type RawPart } from '@libs/inference/testing';
import { until } from './testing/answers';
import { InferenceApp, TRANSCRIPTION_TIMEOUT_MS, type UpstreamArrival } from './testing/inference-app';
import { PausedUpload } from './testing/paused-upload';
import { TranscriptionUpload, UPLOAD_PACE } from './transcription-upload';

const BOUNDARY = 'boundary-of-a-test';
/** Ten seconds of sound in 2 MB. */
const WAVE = waveFile(10, 100_000);
const SPOKEN = { text: 'Hello there.', usage: { cost: 0.001, seconds: 10 } };
const HALF = 1_000_000;
const LAST = `\r\n--${BOUNDARY}--\r\n`.length;
const SECOND = '/second/v1/audio/transcriptions';

const model = fieldPart('model', 'test/speech');
const file = filePart(WAVE);

function refuse(response: ServerResponse): true {
  response.writeHead(503).end('{"error":{"message":"busy"}}');
  return true;
}

describe(TranscriptionUpload.name, () => {
  let app: InferenceApp;

  beforeAll(async () => {
    app = await InferenceApp.start();
  });

  beforeEach(async () => {
    await app.recorder.flush();
    app.upstreamCalls.length = 0;
    app.upstreamArrivals.length = 0;
    app.books.isBroke = false;
    app.books.opened.length = 0;
    app.books.settled.length = 0;
    app.answer = (_request, response) => void response.end(JSON.stringify({ text: 'Hello there.' }));
    app.answerHead = () => false;
    app.admission = null;
    Object.assign(app.uploadPace, UPLOAD_PACE);
  });

  afterAll(() => app.close());

  const begin = (parts: readonly RawPart[], ending?: string, headers = {}): PausedUpload =>
    new PausedUpload(
      `${app.url}/audio/transcriptions`,
      {
        authorization: `Bearer ${app.key}`,
        'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
        ...headers,
      },
      rawForm(BOUNDARY, parts, ending),
    );
  const arrival = (index = 0): UpstreamArrival | undefined => app.upstreamArrivals[index];
  /** Resolves when the upstream has much of what the caller has sent by now. */
  const isPassedOn = (bytes = HALF / 2, index = 0) => until(() => (arrival(index)?.bytes ?? 0) > bytes);
  const areOver = () => until(() => app.upstreamArrivals.every(({ state }) => state !== 'arriving'));
  const states = (): string[] => app.upstreamArrivals.map(({ state }) => state);
  /** Returns what is on the books, when all of it has been written. */
  const books = async () => {
    await app.recorder.flush();
    return app.books.settled;
  };

  // These tests come first: once a caller is known to have money, its calls do not wait for their hold.
  it('is not transcribed for who cannot pay', async () => {
    app.books.isBroke = true;
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    await isPassedOn();
    upload.end();
    expect(await upload.answer).toMatchObject({ status: 402 });
    await areOver();
    expect(states()).toEqual(['broken']);
    expect(await books()).toEqual([]);
  });

  it('keeps its end until its price is held', async () => {
    const held = Promise.withResolvers<void>();
    app.books.gate = held.promise;
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    await isPassedOn();
    upload.end();
    await until(() => app.books.opened.length > 0);
    await isPassedOn(WAVE.length - 200_000);
    expect(arrival()).toMatchObject({ state: 'arriving' });
    held.resolve();
    expect(await upload.answer).toEqual({ status: 200, body: SPOKEN });
    // Of the longest recording that the endpoint takes.
    expect(app.books.opened).toMatchObject([{ holdUsd: '0.72' }]);
  });

  it('is passed on while it arrives, with its exact length, and charged when it is whole', async () => {
    const upload = begin([model, fieldPart('language', 'de'), file]);
    await upload.sendTo(HALF);
    await isPassedOn();
    expect(app.books.opened).toEqual([]);
    upload.end();
    expect(await upload.answer).toEqual({ status: 200, body: SPOKEN });
    const [body] = app.upstreamCalls;
    expect(body!.includes(WAVE)).toBe(true);
    expect(body!.toString('latin1', 0, 1_000)).toContain('name="language"\r\n\r\nde\r\n');
    expect(arrival()!.headers).toMatchObject({ 'content-length': String(body!.length) });
    expect(arrival()!.headers['transfer-encoding']).toBeUndefined();
    expect(await books()).toMatchObject([{ costUsd: '0.001', statusCode: 200, provider: 'test' }]);
  });

  it('keeps its end until the end of the form was read', async () => {
    const parts = [model, file];
    const upload = begin(parts);
    await upload.sendTo(rawForm(BOUNDARY, parts).length - 1);
    await isPassedOn(WAVE.length - 200_000);
    // The provider may have any part of it, but not all.
    expect(arrival()).toMatchObject({ state: 'arriving' });
    expect(arrival()!.bytes).toBeLessThan(WAVE.length);
    upload.end();
    expect(await upload.answer).toMatchObject({ status: 200 });
  });

  it.each<[string, readonly RawPart[], string | undefined]>([
    ['a field that changes what is asked', [model, file, fieldPart('language', 'de')], undefined],
    ['a field that means nothing', [model, file, fieldPart('prompt', 'x')], undefined],
    ['nothing, but a line end less than usual', [model, file], `--${BOUNDARY}--`],
    ['words that belong to nothing', [model, file], `--${BOUNDARY}--\r\nand more`],
  ])('is taken back, and sent anew, where it is followed by %s', async (what, parts, ending) => {
    const upload = begin(parts, ending);
    await upload.sendTo(HALF);
    await isPassedOn();
    upload.end();
    expect(await upload.answer).toEqual({ status: 200, body: SPOKEN });
    await areOver();
    expect(states()).toEqual(['broken', 'whole']);
    expect(app.upstreamCalls[0]!.includes(WAVE)).toBe(true);
    expect(app.upstreamCalls[0]!.includes('name="language"')).toBe(what.includes('changes'));
    expect(await books()).toMatchObject([{ costUsd: '0.001', statusCode: 200 }]);
  });

  const lying = Buffer.from(WAVE);
  lying.writeUInt32LE(WAVE.length, 40);

  it.each<[string, number, readonly RawPart[], string | undefined]>([
    ['another file', 400, [model, file, file], undefined],
    ['a field that is wrong', 400, [model, file, fieldPart('temperature', 'warm')], undefined],
    ['a model again', 400, [model, file, model], undefined],
    ['no last boundary', 400, [model, file], ''],
    ['half a last boundary', 400, [model, file], `--${BOUNDARY}-`],
    ['the end of a recording that claims to be longer', 400, [model, filePart(lying)], undefined],
  ])('is refused as ever where it is followed by %s, and no provider has all of it', async (_what, status, ...form) => {
    const upload = begin(...form);
    await upload.sendTo(HALF);
    await isPassedOn();
    upload.end();
    expect(await upload.answer).toMatchObject({ status });
    await areOver();
    expect(states()).toEqual(['broken']);
    expect(await books()).toEqual([]);
  });

  it('ends the provider when its caller leaves in the middle, and leaves nothing on the books', async () => {
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    await isPassedOn();
    upload.leave();
    await until(() => arrival()!.state === 'broken');
    expect(await books()).toEqual([]);
    expect(app.books.opened).toEqual([]);
  });

  it('is begun to be sent when the limits have let it in, and not before', async () => {
    const admitted = Promise.withResolvers<void>();
    app.admission = admitted.promise;
    let isLetIn = false;
    const wereLetIn: boolean[] = [];
    app.answerHead = () => (wereLetIn.push(isLetIn), false);
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    // The gateway has read what was sent before by the time it answers this.
    await app.post('chat/completions', {});
    isLetIn = true;
    admitted.resolve();
    await isPassedOn();
    upload.end();
    expect(await upload.answer).toEqual({ status: 200, body: SPOKEN });
    expect(wereLetIn).toEqual([true]);
  });

  it('is sent to nobody where the limits refuse it, and is on no books', async () => {
    app.admission = Promise.reject(new AppError('rate_limit_exceeded', 'Too many requests'));
    app.admission.catch(() => undefined);
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    upload.end();
    expect(await upload.answer).toMatchObject({ status: 429 });
    expect(app.upstreamArrivals).toEqual([]);
    expect(await books()).toEqual([]);
  });

  it('goes on to the next provider from its beginning, while it still arrives', async () => {
    app.answerHead = ({ path }, response) => path !== SECOND && refuse(response);
    const upload = begin([fieldPart('model', 'test/either'), file]);
    await upload.sendTo(HALF);
    await until(() => app.upstreamArrivals.some(({ path, bytes }) => path === SECOND && bytes > HALF / 2));
    expect(upload.isEnded).toBe(false);
    upload.end();
    expect(await upload.answer).toEqual({ status: 200, body: SPOKEN });
    expect(app.upstreamArrivals.at(-1)).toMatchObject({ path: SECOND, state: 'whole' });
    expect(app.upstreamCalls.map((body) => body.includes(WAVE))).toEqual([true]);
    expect(await books()).toMatchObject([{ costUsd: '0.001', statusCode: 200, provider: 'second' }]);
  });

  it('is refused once, when it is whole, where every provider has refused it before', async () => {
    app.answerHead = (_arrival, response) => refuse(response);
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    await until(() => arrival() !== undefined);
    upload.end();
    expect(await upload.answer).toMatchObject({ status: 529, body: { error: { code: 529 } } });
    expect(await books()).toMatchObject([{ costUsd: '0', statusCode: 529 }]);
  });

  it('believes no answer that comes before it is whole', async () => {
    app.answerHead = (_arrival, response) => {
      response.end(JSON.stringify({ text: 'Hello there.' }));
      return true;
    };
    const refused = begin([model, file, file]);
    await refused.sendTo(HALF);
    await until(() => arrival() !== undefined);
    refused.end();
    expect(await refused.answer).toMatchObject({ status: 400 });
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    await until(() => arrival(1) !== undefined);
    expect(app.books.opened).toEqual([]);
    upload.end();
    expect(await upload.answer).toEqual({ status: 200, body: SPOKEN });
    expect(await books()).toMatchObject([{ costUsd: '0.001', statusCode: 200 }]);
  });

  it('costs its provider no time while its caller is waited for', async () => {
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    await isPassedOn();
    await delay(TRANSCRIPTION_TIMEOUT_MS + 200);
    upload.end();
    expect(await upload.answer).toEqual({ status: 200, body: SPOKEN });
    expect(states()).toEqual(['whole']);
  });

  it('costs it time from then on', async () => {
    app.answer = () => undefined;
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    await isPassedOn();
    upload.end();
    expect(await upload.answer).toMatchObject({ status: 504 });
  });

  it.each(['stallMs', 'longestMs'] as const)('gives the provider free when it is too slow (%s)', async (bound) => {
    // Long enough for a busy machine to have begun to pass it on.
    app.uploadPace[bound] = 400;
    const upload = begin([model, file]);
    await upload.sendTo(HALF);
    await until(() => arrival() !== undefined);
    await delay(420);
    await upload.sendTo(HALF + 100_000);
    await until(() => arrival()!.state === 'broken');
    expect(upload.isEnded).toBe(false);
    upload.end();
    expect(await upload.answer).toEqual({ status: 200, body: SPOKEN });
    expect(states()).toEqual(['broken', 'whole']);
  });

  it.each<[string, readonly RawPart[], Record<string, string>]>([
    ['stands before the model', [file, model], {}],
    ['is in a form of no known length', [model, file], { 'transfer-encoding': 'chunked' }],
    ['comes behind a model that nobody can be asked for', [fieldPart('language', 'de'), file, model], {}],
    ['has no known format', [model, filePart(Buffer.concat([Buffer.from('<html>'), WAVE]))], {}],
    ['is short', [model, filePart(waveFile(1))], {}],
  ])('is sent when it is whole where it %s', async (_what, parts, headers) => {
    const wereEnded: boolean[] = [];
    const form = rawForm(BOUNDARY, parts);
    const upload = begin(parts, undefined, headers);
    app.answerHead = () => (wereEnded.push(upload.isEnded), false);
    await upload.sendTo(form.length - LAST);
    // The gateway has read what was sent before by the time it answers this.
    await app.post('audio/transcriptions', {});
    upload.end();
    const { status } = await upload.answer;
    expect(wereEnded).toEqual(status === 200 ? [true] : []);
    expect(states()).toEqual(status === 200 ? ['whole'] : []);
  });
});
