import 'reflect-metadata';
import { validateSync } from 'class-validator';
import { ChatCompletionDto } from '../chat-completions/chat-completions.dto';
import { EmbeddingsDto } from '../embeddings/embeddings.dto';
import { MessagesDto } from '../messages-api/messages.dto';
import { ResponsesDto } from './responses.dto';

function problemsOf(dto: object): readonly string[] {
  return validateSync(dto).flatMap(({ constraints = {} }) => Object.values(constraints));
}

const user = (...content: object[]): object => ({ role: 'user', content });
const chat = (part: object): object =>
  Object.assign(new ChatCompletionDto(), { model: 'a', messages: [user({ type: 'text', text: 'x' }, part)] });
const messages = (part: object): object =>
  Object.assign(new MessagesDto(), { model: 'a', messages: [user({ type: 'text', text: 'x' }, part)] });
const responses = (part: object): object =>
  Object.assign(new ResponsesDto(), { model: 'a', input: [user({ type: 'input_text', text: 'x' }, part)] });

/** Each place at which a body holds a link: the request with that link in it, and the path. */
const PLACES: readonly (readonly [place: string, request: (link: string) => object, path: string])[] = [
  ['chat image', (url) => chat({ type: 'image_url', image_url: { url } }), 'messages[0].content[1].image_url.url'],
  ['chat image text', (url) => chat({ type: 'image_url', image_url: url }), 'messages[0].content[1].image_url'],
  ['chat video', (url) => chat({ type: 'video_url', video_url: { url } }), 'messages[0].content[1].video_url.url'],
  ['chat file', (url) => chat({ type: 'file', file: { file_data: url } }), 'messages[0].content[1].file.file_data'],
  ['chat file id', (url) => chat({ type: 'file', file: { file_id: url } }), 'messages[0].content[1].file.file_id'],
  [
    'chat audio',
    (data) => chat({ type: 'input_audio', input_audio: { data, format: 'mp3' } }),
    'messages[0].content[1].input_audio.data',
  ],
  [
    'messages image',
    (url) => messages({ type: 'image', source: { type: 'url', url } }),
    'messages[0].content[1].source.url',
  ],
  [
    'messages document',
    (url) => messages({ type: 'document', source: { type: 'url', url } }),
    'messages[0].content[1].source.url',
  ],
  [
    'messages document of blocks',
    (url) =>
      messages({
        type: 'document',
        source: { type: 'content', content: [{ type: 'image', source: { type: 'url', url } }] },
      }),
    'messages[0].content[1].source.content[0].source.url',
  ],
  [
    'messages tool result',
    (url) =>
      messages({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source: { type: 'url', url } }] }),
    'messages[0].content[1].content[0].source.url',
  ],
  [
    'messages file id',
    (url) => messages({ type: 'document', source: { type: 'file', file_id: url } }),
    'messages[0].content[1].source.file_id',
  ],
  ['responses image', (url) => responses({ type: 'input_image', image_url: url }), 'input[0].content[1].image_url'],
  ['responses file', (url) => responses({ type: 'input_file', file_url: url }), 'input[0].content[1].file_url'],
  ['responses file id', (url) => responses({ type: 'input_file', file_id: url }), 'input[0].content[1].file_id'],
  ['responses video', (url) => responses({ type: 'input_video', video_url: url }), 'input[0].content[1].video_url'],
  [
    'responses screenshot',
    (url) =>
      Object.assign(new ResponsesDto(), {
        input: [
          { type: 'computer_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: url } },
        ],
      }),
    'input[0].output.image_url',
  ],
  [
    'embeddings image',
    (url) =>
      Object.assign(new EmbeddingsDto(), {
        model: 'a',
        input: [{ content: [{ type: 'image_url', image_url: { url } }] }],
      }),
    'input[0].content[0].image_url.url',
  ],
];

/** Servers of tools are called by providers too. */
const SERVERS: readonly (readonly [place: string, request: (link: string) => object, path: string])[] = [
  [
    'responses server',
    (url) =>
      Object.assign(new ResponsesDto(), {
        input: 'x',
        tools: [{ type: 'mcp', server_label: 'x', server_url: url }],
      }),
    'tools[0].server_url',
  ],
  [
    'messages server',
    (url) => Object.assign(new MessagesDto(), { model: 'a', messages: [user()], mcp_servers: [{ type: 'url', url }] }),
    'mcp_servers[0].url',
  ],
];

const REFUSED = [
  'http://169.254.169.254/latest/meta-data/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://0251.0376.0251.0376/',
  'http://127.1/',
  'http://10.0.0.1/a.png',
  'http://192.168.0.1/a.png',
  'http://[::1]/a.png',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:a00:1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::a9fe:a9fe]/',
  'http://[2002:a9fe:a9fe::1]/',
  'http://[2001:0:a9fe:a9fe::1]/',
  'http://[::169.254.169.254]/',
  'http://[fd00::1]/',
  'http://localhost:8080/a.png',
  'http://metadata.google.internal/',
  'http://metadata/',
  'http://user:secret@acme.example/a.png',
  'file:///etc/passwd',
  ' file:///etc/passwd',
  'ftp://acme.example/a.png',
];

describe('links in requests', () => {
  describe.each([...PLACES, ...SERVERS])('%s', (_place, request, path) => {
    it.each(REFUSED)('refuses %s and names the field', (link) => {
      const problems = problemsOf(request(link));
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join('; ')).toContain(path);
      expect(problems.join('; ')).not.toContain('secret');
    });

    it('takes a link to a public host', () => {
      expect(problemsOf(request('https://acme.example/a.png'))).toEqual([]);
    });
  });

  it.each(SERVERS)('refuses cloud storage as a server: %s', (_place, request, path) => {
    expect(problemsOf(request('gs://bucket/x')).join('; ')).toContain(path);
  });

  it.each(PLACES)('leaves cloud storage to routing: %s', (_place, request) => {
    expect(problemsOf(request('gs://bucket/x.png'))).toEqual([]);
  });

  it('leaves plain text that looks like a link alone', () => {
    const source = { type: 'text', media_type: 'text/plain', data: 'file:///etc/passwd is a path' };
    expect(problemsOf(messages({ type: 'document', source }))).toEqual([]);
  });
});
