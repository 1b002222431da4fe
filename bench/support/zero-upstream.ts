import { createServer, type ServerResponse } from 'node:http';

/**
 * A provider without latency, as cheap as an HTTP server in Node can be: what is measured is the process in front of
 * it. It speaks the three APIs, and takes recordings. Below `/stream-EVENTS-MS` it streams chat completions:
 * so many events, the first at once and one every so many milliseconds; with 0, all as fast as they are taken. Below
 * `/stream-EVENTS-MS-FIRST` the first takes FIRST milliseconds, as a model has to read its prompt.
 */
const TEXT = 'The quick brown fox jumps over the lazy dog. '.repeat(8);
const COUNTS = { prompt: 42, completion: 80 };

const chat = JSON.stringify({
  id: 'chatcmpl-0123456789',
  object: 'chat.completion',
  created: 1_763_683_200,
  model: 'sandbox-chat',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: TEXT, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: {
    prompt_tokens: COUNTS.prompt,
    completion_tokens: COUNTS.completion,
    total_tokens: COUNTS.prompt + COUNTS.completion,
  },
  system_fingerprint: 'fp_0123456789',
});

const response = JSON.stringify({
  id: 'resp-0123456789',
  object: 'response',
  created_at: 1_763_683_200,
  completed_at: 1_763_683_201,
  status: 'completed',
  model: 'sandbox-chat',
  output: [
    {
      type: 'message',
      id: 'msg-0123456789',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: TEXT, annotations: [], logprobs: [] }],
    },
  ],
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 0.7,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  usage: {
    input_tokens: COUNTS.prompt,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: COUNTS.completion,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: COUNTS.prompt + COUNTS.completion,
  },
});

const message = JSON.stringify({
  id: 'msg-0123456789',
  type: 'message',
  role: 'assistant',
  model: 'sandbox-chat',
  content: [{ type: 'text', text: TEXT }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: COUNTS.prompt, output_tokens: COUNTS.completion },
});

const chunk = (choices: object[], members: object = {}): Buffer =>
  Buffer.from(
    `data: ${JSON.stringify({ id: 'chatcmpl-0123456789', object: 'chat.completion.chunk', created: 1_763_683_200, model: 'sandbox-chat', choices, ...members })}\n\n`,
  );
const WORDS = chunk([{ index: 0, delta: { content: 'The quick brown fox ' }, logprobs: null, finish_reason: null }]);
const END = Buffer.concat([
  chunk([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]),
  chunk([], { usage: (JSON.parse(chat) as { usage: object }).usage }),
  Buffer.from('data: [DONE]\n\n'),
]);

function stream(reply: ServerResponse, events: number, everyMs: number, firstMs: number): void {
  reply.writeHead(200, { 'content-type': 'text/event-stream' });
  let left = events;
  const step = (): void => {
    if (reply.destroyed) return;
    for (;;) {
      if (left === 0) return void reply.end(END);
      left -= 1;
      const isTaken = reply.write(WORDS);
      if (everyMs > 0) return void setTimeout(step, everyMs);
      if (!isTaken) return void reply.once('drain', step);
    }
  };
  if (firstMs > 0) setTimeout(step, firstMs);
  else step();
}

const STREAM_PATH = /^\/stream-(\d+)-(\d+)(?:-(\d+))?\//;

const transcript = JSON.stringify({ text: TEXT, usage: { input_tokens: 42, output_tokens: 80, total_tokens: 122 } });

function answerFor(path: string): string {
  if (path.endsWith('/audio/transcriptions')) return transcript;
  if (path.endsWith('/responses')) return response;
  return path.endsWith('/messages') ? message : chat;
}

const server = createServer((request, reply) => {
  const path = request.url ?? '';
  if (request.method === 'GET') {
    reply.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    return;
  }
  const streamed = STREAM_PATH.exec(path);
  const answer = answerFor(path);
  request.resume().on('end', () => {
    if (streamed !== null) return stream(reply, Number(streamed[1]), Number(streamed[2]), Number(streamed[3] ?? 0));
    reply
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
      .end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
