import type { Translations } from '../dialects/dialect-pairs';
import { anEndpoint } from '../testing';
import type { ProviderAdapter } from './provider';
import { upstreamApiFor } from './upstream-api';

const adapter = (...methods: (keyof ProviderAdapter)[]): ProviderAdapter =>
  Object.fromEntries(methods.map((name) => [name, async () => undefined]));

describe(upstreamApiFor.name, () => {
  const all = adapter('chat', 'responses', 'messages', 'embed');

  it.each<
    [string, 'chat' | 'responses' | 'messages', ('chat' | 'responses' | 'messages' | 'embeddings')[], string | null]
  >([
    ['its own API', 'messages', ['chat', 'messages'], 'messages'],
    ['chat before responses', 'messages', ['responses', 'chat'], 'chat'],
    ['responses before messages', 'chat', ['messages', 'responses'], 'responses'],
    ['messages when there is nothing else', 'responses', ['messages'], 'messages'],
    ['nothing where there is no conversation', 'chat', ['embeddings'], null],
  ])('chooses %s', (_what, callerApi, apis, expected) => {
    expect(upstreamApiFor(callerApi, anEndpoint({ apis }), all)).toBe(expected);
  });

  it('translates no embeddings', () => {
    expect(upstreamApiFor('embeddings', anEndpoint({ apis: ['chat'] }), all)).toBeNull();
    expect(upstreamApiFor('embeddings', anEndpoint({ apis: ['chat', 'embeddings'] }), all)).toBe('embeddings');
  });

  it('leaves out what the adapter of the protocol cannot do', () => {
    const endpoint = anEndpoint({ apis: ['messages', 'chat'] });
    expect(upstreamApiFor('messages', endpoint, adapter('chat'))).toBe('chat');
    expect(upstreamApiFor('messages', endpoint, adapter('embed'))).toBeNull();
    expect(upstreamApiFor('messages', endpoint, undefined)).toBe('messages');
  });

  it('knows only the translations it is given', () => {
    const none: Translations = new Map();
    expect(upstreamApiFor('messages', anEndpoint({ apis: ['chat'] }), all, none)).toBeNull();
  });
});
