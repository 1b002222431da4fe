import { sourceOf } from './source-address';

describe(sourceOf.name, () => {
  it('counts an IPv4 address as itself, however it is written', () => {
    expect(sourceOf('203.0.113.7')).toBe('203.0.113.7');
    expect(sourceOf('::ffff:203.0.113.7')).toBe('203.0.113.7');
  });

  it('counts all addresses of an IPv6 network as one', () => {
    expect(sourceOf('2001:db8:1:2::1')).toBe('20010db800010002');
    expect(sourceOf('2001:0db8:0001:0002:ffff:ffff:ffff:ffff')).toBe('20010db800010002');
    expect(sourceOf('2001:db8:1:3::1')).not.toBe('20010db800010002');
  });

  it.each(['', 'unknown', '<script>', 'a'.repeat(10_000), '10.0.0.1:80'])(
    'counts %j with all that is no address',
    (text) => {
      expect(sourceOf(text)).toBe('unknown');
    },
  );
});
