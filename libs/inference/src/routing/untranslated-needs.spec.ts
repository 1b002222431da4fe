import { anEndpoint } from '../testing';
import { untranslatedNeeds } from './untranslated-needs';

describe(untranslatedNeeds.name, () => {
  const native = anEndpoint();
  const isNative = (endpoint: unknown): boolean => endpoint === native;

  it('lets a template be used only where the provider has the API of the caller', () => {
    const [need, ...others] = untranslatedNeeds('responses', { prompt: { id: 'pmpt_1' } }, isNative);
    expect(others).toEqual([]);
    expect(need).toMatchObject({ member: 'prompt' });
    expect([need!.isMetBy(native, null), need!.isMetBy(anEndpoint(), null)]).toEqual([true, false]);
  });

  it('asks for nothing without one', () => {
    expect(untranslatedNeeds('responses', { prompt: null, input: 'hi' }, isNative)).toEqual([]);
    expect(untranslatedNeeds('chat', { prompt: 'hi' }, isNative)).toEqual([]);
  });
});
