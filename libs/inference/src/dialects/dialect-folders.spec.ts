import { readdirSync } from 'node:fs';

/** What a folder must have, by what it is for. */
const UPSTREAM = [
  'index',
  'request-writer',
  'conversation-writer',
  'answer-reader',
  'stream-reader',
  'usage',
  'stop-reason',
];
const CALLER = [...UPSTREAM, 'request-reader', 'answer-writer', 'stream-writer', 'relayed-stream'];
const RELAY = ['dialect', 'relayed-request', 'relayed-answer'];

/** Files that a folder does not need, because another dialect's are used. */
const BORROWED: Readonly<Record<string, readonly string[]>> = {
  'mistral-chat': ['usage', 'stop-reason'],
  'mistral-embeddings': ['answer-reader'],
};

/** Further files that a folder may have, under the same name in each. */
const SHARED: Readonly<Record<string, string>> = {
  'answer-writer': 'answers for callers of another dialect',
  'cache-mark': 'marks for the prompt cache',
  citations: 'sources of an answer',
  'content-reader': 'parts of a message or an answer',
  'content-writer': 'parts of a message',
  'conversation-reader': 'messages of a request',
  error: 'errors in the words of the API',
  'gateway-members': 'fields of a request that no upstream gets',
  'known-members': 'members of a request that are read',
  logprobs: 'log probabilities of tokens',
  media: 'pictures, sound, films and files',
  'part-sequence': 'the parts of a streamed answer, in order',
  reasoning: 'thoughts and their signatures',
  'reasoning-settings': 'whether and how much a model thinks',
  'relayed-event': 'one event of a stream whose bytes pass',
  'returned-citations': 'citations of earlier answers, as the upstream takes them back',
  'returned-thoughts': 'thoughts of earlier answers, as the upstream takes them back',
  'returned-turns': 'the messages of a request that a model wrote',
  sampling: 'temperature and the like',
  'settings-writer': 'settings of a request beside the conversation',
  'stream-events': 'events of our own making',
  'tool-reader': 'definitions of tools in a request',
  'tool-writer': 'definitions of tools',
  traits: 'what tells the models of the protocol apart',
};

/** What one dialect alone has. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  'anthropic-messages': ['billing', 'count-tokens', 'required-members', 'stream-counts'],
  'bedrock-converse': ['document-names'],
  'cohere-chat': ['character-places'],
  'openai-chat': [
    'call-numbers',
    'call-pieces',
    'chunk-complaint',
    'chunk-head',
    'custom-tools',
    'executed-tools',
    'hidden-thoughts',
    'numbered-calls',
    'relayed-end',
  ],
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
    'tool-items',
    'tool-names',
    'tool-units',
    'unsold-search',
  ],
};

const entries = readdirSync(__dirname, { withFileTypes: true });
const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);

const partsOf = (folder: string): string[] =>
  readdirSync(`${__dirname}/${folder}`)
    .filter((file) => !file.endsWith('.spec.ts'))
    .map((file) => file.replace(/\.ts$/, ''));

/** A folder with a file `dialect` is a callers' dialect; embeddings are recognized by the folder's name. */
const requiredOf = (folder: string): string[] => {
  const isCallers = partsOf(folder).includes('dialect');
  const isEmbeddings = folder.endsWith('-embeddings');
  const translated = isEmbeddings ? ['request-writer', 'answer-reader'] : UPSTREAM;
  const all = isCallers ? [...(isEmbeddings ? [] : CALLER), ...RELAY] : translated;
  return all.filter((part) => !BORROWED[folder]?.includes(part));
};

describe('the folders of dialects', () => {
  it.each(folders)('%s has every part that its kind needs', (folder) => {
    expect(partsOf(folder)).toEqual(expect.arrayContaining(requiredOf(folder)));
  });

  it.each(folders)('%s gives each part its common name', (folder) => {
    const known = new Set([...requiredOf(folder), ...Object.keys(SHARED), ...(OWN[folder] ?? [])]);
    expect(partsOf(folder).filter((part) => !known.has(part))).toEqual([]);
  });

  it('have no file of theirs lying beside them', () => {
    const stray = entries.filter(({ name }) => folders.some((folder) => name.startsWith(`${folder}.`)));
    expect(stray).toEqual([]);
  });
});
