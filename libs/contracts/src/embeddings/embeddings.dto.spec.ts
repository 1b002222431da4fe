import 'reflect-metadata';
import { validateSync } from 'class-validator';
import { EmbeddingsDto } from './embeddings.dto';

const problemsOf = (members: object): readonly string[] =>
  validateSync(Object.assign(new EmbeddingsDto(), { model: 'a', input: 'x', ...members })).flatMap(
    ({ constraints = {} }) => Object.values(constraints),
  );

describe(EmbeddingsDto.name, () => {
  it.each(['user', 'safety_identifier', 'prompt_cache_key', 'input_type'])(
    'takes text as %s, and no number',
    (name) => {
      for (const value of ['k', null]) expect(problemsOf({ [name]: value })).toEqual([]);
      for (const value of [5, true, ['k'], { a: 'k' }]) {
        expect(problemsOf({ [name]: value })).toContainEqual(expect.stringContaining(`${name} must be a string`));
      }
    },
  );

  it('refuses a preset, and a trace that is no object', () => {
    expect(problemsOf({ preset: null, trace: { trace_id: 't' } })).toEqual([]);
    expect(problemsOf({ preset: 'mine' })).toContainEqual(expect.stringContaining('preset must be null'));
    expect(problemsOf({ trace: 5 })).toContainEqual(expect.stringContaining('trace must be an object'));
  });
});
