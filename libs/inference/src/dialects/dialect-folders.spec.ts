import { readdirSync } from 'node:fs';

/** What a folder must have of each kind of dialect. */
const UPSTREAM = ['index', 'request-writer', 'conversation-writer', 'answer-reader', 'stream-reader'];
const CALLER = ['request-reader', 'answer-writer', 'stream-writer'];
const RELAY = ['dialect', 'relayed-request', 'relayed-answer'];
const WORDS = ['usage', 'stop-reason'];

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'openai-chat': [...UPSTREAM, ...WORDS, ...CALLER, ...RELAY, 'relayed-stream'],
  'openai-responses': [...UPSTREAM, ...WORDS, ...CALLER, ...RELAY, 'relayed-stream'],
  'anthropic-messages': [...UPSTREAM, ...WORDS, ...CALLER, ...RELAY, 'relayed-stream'],
  'bedrock-converse': [...UPSTREAM, ...WORDS],
  'cohere-chat': [...UPSTREAM, ...WORDS],
  'google-generate-content': [...UPSTREAM, ...WORDS],
  // Usage and stop reasons are those of openai-chat.
  'mistral-chat': UPSTREAM,
  'openai-embeddings': [...RELAY, 'answer-writer'],
  'bedrock-embeddings': ['request-writer', 'answer-reader'],
  'cohere-embeddings': ['request-writer', 'answer-reader'],
  'google-embeddings': ['request-writer', 'answer-reader'],
  // Answers are OpenAI's.
  'mistral-embeddings': ['request-writer'],
};

/** What a folder may have beside that, by the same name in each. */
const SHARED: Readonly<Record<string, string>> = {
  'cache-mark': 'marks for the prompt cache',
  citations: 'sources of an answer',
  'content-reader': 'parts of a message or an answer',
  'content-writer': 'parts of a message',
  'conversation-reader': 'messages of a request',
  error: 'errors in the words of the API',
  'gateway-members': 'fields of a request that no upstream gets',
  logprobs: 'log probabilities of tokens',
  media: 'pictures, sound, films and files',
  'part-sequence': 'the parts of a streamed answer, in order',
  reasoning: 'thoughts and their signatures',
  'reasoning-settings': 'whether and how much a model thinks',
  'relayed-event': 'one event of a stream whose bytes pass',
  sampling: 'temperature and the like',
  'settings-writer': 'settings of a request beside the conversation',
  'stream-events': 'events of our own making',
  'tool-reader': 'definitions of tools in a request',
  'tool-writer': 'definitions of tools',
  traits: 'what tells the models of the protocol apart',
};

/** What one dialect alone has. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  'anthropic-messages': ['billing', 'count-tokens', 'required-members'],
  'bedrock-converse': ['document-names'],
  'openai-chat': ['call-pieces', 'chunk-head', 'hidden-thoughts'],
  'openai-embeddings': ['batches', 'inputs', 'vectors'],
  'openai-responses': [
    'answer-items',
    'event-rewriter',
    'item-words',
    'open-item',
    'open-items',
    'open-message',
    'open-server-tool',
    'open-thoughts',
    'response-object',
    'returned-thoughts',
    'tool-items',
  ],
};

const entries = readdirSync(__dirname, { withFileTypes: true });
const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);

const partsOf = (folder: string): string[] =>
  readdirSync(`${__dirname}/${folder}`)
    .filter((file) => !file.endsWith('.spec.ts'))
    .map((file) => file.replace(/\.ts$/, ''));

describe('the folders of dialects', () => {
  it('are all known by their kind', () => {
    expect(folders.toSorted()).toEqual(Object.keys(REQUIRED).toSorted());
  });

  it.each(Object.entries(REQUIRED))('%s has every part that its kind needs', (folder, required) => {
    expect(partsOf(folder)).toEqual(expect.arrayContaining([...required]));
  });

  it.each(Object.entries(REQUIRED))('%s gives each part its common name', (folder, required) => {
    const known = new Set([...required, ...Object.keys(SHARED), ...(OWN[folder] ?? [])]);
    expect(partsOf(folder).filter((part) => !known.has(part))).toEqual([]);
  });

  it('have no file of theirs lying beside them', () => {
    const stray = entries.filter(({ name }) => folders.some((folder) => name.startsWith(`${folder}.`)));
    expect(stray).toEqual([]);
  });
});
