import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { LEFTOVER_BOUNDS } from '@libs/inference';
import { waveFile } from '@libs/inference/testing';
import { FakeTool, found } from '../server-tools/testing/fake-tool';
import { CHAT_ANSWER, chatChunk, CHAT_END, DONE, until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const TOOL_CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'datetime', arguments: '{}' } };
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const WAVE = waveFile(2.5);

/** A turn that calls the tool, streamed and whole. */
const ASKS_TOOL = chatChunk('', {
  choices: [{ index: 0, delta: { tool_calls: [TOOL_CALL] }, finish_reason: 'tool_calls' }],
  usage: USAGE,
});
const WHOLE_ASKS_TOOL = {
  ...CHAT_ANSWER,
  choices: [
    { index: 0, message: { role: 'assistant', content: null, tool_calls: [TOOL_CALL] }, finish_reason: 'tool_calls' },
  ],
};

describe('a call with server tools whose caller disconnects', () => {
  const tool = new FakeTool('datetime', async () => found('Found.'));
  /** A tool that ends some time after its caller has left. */
  const painter = new FakeTool(
    'image_generation',
    async ({ context: { signal } }) => {
      await once(signal, 'abort');
      await delay(5);
      return found('Painted.', { costPicoUsd: 39_000_000_000n });
    },
    { mostPicoUsd: 50_000_000_000n },
  );
  let app: InferenceApp;
  let answers: ServerResponse[];

  beforeEach(async () => {
    app = await InferenceApp.start([tool, painter]);
    Object.assign(app.streamPace, { firstCommentMs: 5, keepAliveMs: 5 });
    Object.assign(app.leftoverBounds, { ...LEFTOVER_BOUNDS, mostReads: 64 });
    tool.uses.length = 0;
    painter.uses.length = 0;
    answers = [];
    app.answer = (_request, answer) => void answers.push(answer);
  });

  afterEach(() => app.close());

  const begin = (isStream: boolean, name = 'datetime'): (() => Promise<void>) => {
    const leaving = new AbortController();
    const messages = [{ role: 'user', content: 'What time is it?' }];
    const body = { model: 'test/chat', messages, stream: isStream, tools: [{ type: `sluice:${name}` }] };
    app.post('chat/completions', body, { signal: leaving.signal }).catch(() => undefined);
    return async () => {
      leaving.abort();
      await until(() => app.inFlight.size === 0);
    };
  };

  const answer = (response: ServerResponse, isStream: boolean, asksTool: boolean): void => {
    if (isStream) response.writeHead(200, { 'content-type': 'text/event-stream' });
    const streamed = asksTool ? ASKS_TOOL + DONE : chatChunk('Noon.') + CHAT_END + DONE;
    response.end(isStream ? streamed : JSON.stringify(asksTool ? WHOLE_ASKS_TOOL : CHAT_ANSWER));
  };

  const settled = async () => {
    await until(() => app.books.settled.length === 1);
    await app.recorder.flush();
    expect(app.books.settled).toHaveLength(1);
    return app.books.settled[0]!;
  };

  it.each([true, false])('pays for the turn, and no tool and no other turn begins (stream: %s)', async (isStream) => {
    const leave = begin(isStream);
    await until(() => answers.length === 1);
    await leave();
    answer(answers[0]!, isStream, true);
    expect(await settled()).toMatchObject({ outcome: 'cancelled', promptTokens: 10, completionTokens: 5 });
    expect([app.upstreamCalls.length, tool.uses.length, app.leftovers.size]).toEqual([1, 0, 0]);
  });

  it.each([true, false])('pays for all turns up to the one that was under way (stream: %s)', async (isStream) => {
    const leave = begin(isStream);
    await until(() => answers.length === 1);
    answer(answers[0]!, isStream, true);
    await until(() => answers.length === 2);
    await leave();
    expect(app.books.settled).toEqual([]);
    answer(answers[1]!, isStream, false);
    expect(await settled()).toMatchObject({ outcome: 'cancelled', promptTokens: 20, completionTokens: 10 });
  });

  it.each([true, false])('pays for a tool that was under way at a provider (stream: %s)', async (isStream) => {
    const leave = begin(isStream, 'image_generation');
    await until(() => answers.length === 1);
    const called = JSON.stringify(ASKS_TOOL).replaceAll('datetime', 'image_generation');
    const whole = JSON.stringify(WHOLE_ASKS_TOOL).replaceAll('datetime', 'image_generation');
    if (isStream) answers[0]!.writeHead(200, { 'content-type': 'text/event-stream' });
    answers[0]!.end(isStream ? (JSON.parse(called) as string) + DONE : whole);
    await until(() => painter.uses.length === 1);
    await leave();
    const row = await settled();
    expect(row).toMatchObject({ outcome: 'cancelled', promptTokens: 10, completionTokens: 5 });
    expect(Number(row.costUsd)).toBeGreaterThanOrEqual(0.039);
  });

  it.each([true, false])('pays the prompt of a turn that never came (stream: %s)', async (isStream) => {
    app.leftoverBounds.longestMs = 30;
    const leave = begin(isStream);
    await until(() => answers.length === 1);
    answer(answers[0]!, isStream, true);
    await until(() => answers.length === 2);
    await leave();
    const row = await settled();
    expect(row).toMatchObject({ outcome: 'cancelled', completionTokens: 5 });
    expect(row.promptTokens).toBeGreaterThan(20);
    await until(() => app.upstreamAborts === 1);
  });

  it.each([
    ['comes', 60_000],
    ['does not come', 30],
  ])('pays for a recording whose transcript %s', async (what, longestMs) => {
    app.leftoverBounds.longestMs = longestMs;
    const leaving = new AbortController();
    const input = { model: 'test/speech', input_audio: { data: WAVE.toString('base64'), format: 'wav' } };
    app.post('audio/transcriptions', input, { signal: leaving.signal }).catch(() => undefined);
    await until(() => answers.length === 1);
    leaving.abort();
    await until(() => app.inFlight.size === 0);
    if (what === 'comes') answers[0]!.end(JSON.stringify({ text: 'Hello there.' }));
    expect(await settled()).toMatchObject({ outcome: 'cancelled', costUsd: '0.00025' });
  });
});
