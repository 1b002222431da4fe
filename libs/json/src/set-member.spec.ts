import fc from 'fast-check';
import { heapTakenBy } from './testing/heap-taken';
import { setMember } from './set-member';

describe(setMember.name, () => {
  it('makes of any members what JSON.parse makes of them', () => {
    const names = fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom('__proto__', '9a', '007', '4294967295'));
    fc.assert(
      fc.property(fc.array(fc.tuple(names, fc.nat())), (members) => {
        const object: Record<string, unknown> = {};
        for (const [name, value] of members) setMember(object, name, value);
        const text = `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
        expect(JSON.stringify(object)).toBe(JSON.stringify(JSON.parse(text)));
        expect(Object.getOwnPropertyDescriptors(object)).toEqual(Object.getOwnPropertyDescriptors(JSON.parse(text)));
      }),
    );
  });

  it.each(['9', '99', '330', '1023', '4294967294'])('sets no room aside for what is below the index %s', (name) => {
    const heapBytes = heapTakenBy(() =>
      Array.from({ length: 10_000 }, () => {
        const object = {};
        setMember(object, name, 1);
        return object;
      }),
    );
    expect(heapBytes / 10_000).toBeLessThan(300);
  });
});
