import { AppError } from './app-error';
import { toEnvelope } from './envelope';

const availability = { code: 'no_endpoints', retryable: false };

describe(toEnvelope.name, () => {
  it('says what happened, and puts the availability beside the metadata', () => {
    const error = new AppError('not_found', 'No provider', { metadata: { param: 'model' }, availability });
    expect(toEnvelope(error)).toEqual({
      error: {
        code: 404,
        message: 'No provider',
        metadata: { error_type: 'not_found', param: 'model' },
        availability,
      },
    });
  });

  it('has no availability where routing was not the matter', () => {
    expect(toEnvelope(new AppError('not_found', 'No key')).error).not.toHaveProperty('availability');
  });

  it.each(['server', 'unmapped'] as const)('tells nothing of what was behind %s', (code) => {
    const error = new AppError(code, 'The table is gone', { metadata: { table: 'x' }, availability, internal: 'y' });
    expect(toEnvelope(error)).toEqual({
      error: { code: 500, message: 'Internal error', metadata: { error_type: code } },
    });
  });

  it('names the provider that caused a 500, and hides the causes of all others', () => {
    const metadata = { provider_name: 'Acme' };
    const error = new AppError('server', 'The provider failed with an internal error', { metadata, internal: 'y' });
    expect(toEnvelope(error)).toEqual({
      error: { code: 500, message: error.message, metadata: { error_type: 'server', provider_name: 'Acme' } },
    });
  });

  it('is the same after the error has crossed the broker', () => {
    const error = new AppError('provider_overloaded', 'Busy', {
      metadata: { a: 1 },
      availability,
      retryAfterSeconds: 3,
    });
    expect(toEnvelope(AppError.fromWire(JSON.parse(JSON.stringify(error.toWire()))))).toEqual(toEnvelope(error));
  });

  it.each([
    '{"code":{"toString":1}}',
    '{"code":["conflict"]}',
    '{"message":{"toString":1}}',
    '{"message":null}',
    '{"metadata":"text"}',
    '{"metadata":[1]}',
    '{"availability":"text"}',
    '{"retryAfterSeconds":{"toString":1}}',
    '{"retryAfterSeconds":-1}',
    '{"retryAfterSeconds":"5"}',
  ])('takes nothing of another form than an error has from the broker: %s', (changed) => {
    const wire = { ...new AppError('conflict', 'Busy').toWire(), ...(JSON.parse(changed) as object) };
    const read = AppError.fromWire(wire);
    expect(['conflict', 'server']).toContain(read.code);
    expect([read.metadata, read.availability, read.retryAfterSeconds]).toEqual([undefined, undefined, undefined]);
    expect(['Busy', 'Internal error']).toContain(read.message);
  });
});
