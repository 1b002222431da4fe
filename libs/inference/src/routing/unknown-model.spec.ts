import { aCatalogue, aModel } from '../testing';
import { looksSecret, theModel, unknownModelMessage } from './unknown-model';

const catalogue = aCatalogue(
  aModel({ slug: 'openai/gpt-4o' }),
  aModel({ slug: 'openai/gpt-4o-mini' }),
  aModel({ slug: 'openai/gpt-4.1' }),
  aModel({ slug: 'anthropic/claude-opus-5.5', aliases: ['claude-opus-5-5'] }),
  aModel({ slug: 'anthropic/claude-sonnet-4.5', aliases: ['claude-sonnet-4-5'] }),
  aModel({ slug: 'acme/vectors', aliases: ['embed-everything'] }),
  aModel({ slug: 'acme/chat' }),
);
const said = (name: string) => unknownModelMessage(name, catalogue);

describe(unknownModelMessage.name, () => {
  it.each([
    ['gpt-4p', 'openai/gpt-4o, openai/gpt-4.1 or openai/gpt-4o-mini'],
    ['opnai/gpt-4o', 'openai/gpt-4o, openai/gpt-4.1 or openai/gpt-4o-mini'],
    ['claude-3-5-sonnet-20241022', 'anthropic/claude-sonnet-4.5'],
    ['anthropic/claude-opus-5-5:free', 'anthropic/claude-opus-5.5'],
    ['Embed_Everything-2', 'acme/vectors'],
    ['acme/chta', 'acme/chat'],
    ['claud-opsu-5.5', 'anthropic/claude-opus-5.5'],
  ])('names models that are called almost %s', (name, near) => {
    expect(said(name)).toMatch(new RegExp(`^The model "${name}" does not exist. Did you mean ${near}`));
  });

  it.each(['mistral-large', 'x', 'no/such', 'acme/hat-trick', '🦜', '::::', '__proto__'])(
    'names none for %s',
    (name) => {
      expect(said(name)).toMatch(/^The model ".*" does not exist$/);
    },
  );

  it('cuts a long name, and looks for what is alike in a moment', () => {
    const long = `gpt-4o${'-x'.repeat(2_000_000)}`;
    // Time of this process, so that a busy machine does not fail the test.
    const start = process.cpuUsage();
    expect(said(long).length).toBeLessThan(300);
    expect(process.cpuUsage(start).user).toBeLessThan(200_000);
    expect(said('')).toBe('No model is named; GET /models lists those that exist');
  });

  it('shows no mark that means something elsewhere', () => {
    expect(theModel('a"b\\c<i>\n\u202e\0é')).toBe('The model "a?b?c?i?????"');
  });

  it.each([
    'sk-sluice-v1-abcdefgh',
    'SK-proj-abc',
    'openai/sk-abc',
    'gsk_abcdef',
    'AIzaSyAbc',
    'AKIAIOSFODNN7EXAMPLE',
    'eyJhbGciOiJIUzI1NiJ9.e30.x',
    'Bearer xai-abc',
    '0123456789abcdef01234567',
    '123e4567-e89b-12d3-a456-426614174000',
  ])('never repeats what may be a key: %s', (name) => {
    expect(looksSecret(name)).toBe(true);
    expect(said(name)).toBe('The model does not exist');
  });

  it.each(['openai/gpt-4o', 'claude-haiku-4-5-20251001', 'qwen/qwen3-coder-30b-a3b-instruct', 'risk-model', 'task-7b'])(
    'takes no name of a model for a key: %s',
    (name) => {
      expect(looksSecret(name)).toBe(false);
    },
  );
});
