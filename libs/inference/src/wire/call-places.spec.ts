import { CallPlaces, type CallPlace } from './call-places';

const WEIGHTS = [4, 8];

describe(CallPlaces.name, () => {
  let begun: string[];

  beforeEach(() => {
    begun = [];
  });

  function enter(places: CallPlaces, tenant: string): CallPlace | null {
    const place = places.enter([tenant, `${tenant} Inc.`]);
    place?.start(() => begun.push(tenant));
    return place;
  }

  function fill(places: CallPlaces, tenant: string): CallPlace[] {
    const entered: CallPlace[] = [];
    for (let place = enter(places, tenant); place !== null; place = enter(places, tenant)) entered.push(place);
    return entered;
  }

  it('leaves connections for others beside one whose calls never end', () => {
    const places = new CallPlaces(10, WEIGHTS);
    expect(fill(places, 'a')).toHaveLength(16);
    expect(begun).toHaveLength(8);
    enter(places, 'b');
    expect(begun.at(-1)).toBe('b');
  });

  it('lets a call pass those whose callers have their share', () => {
    const places = new CallPlaces(5, WEIGHTS);
    const [running] = fill(places, 'a');
    enter(places, 'b');
    enter(places, 'c');
    begun = [];
    running!.leave();
    expect(begun).toEqual(['c']);
  });

  it('gives all connections to one caller where nobody has a share', () => {
    const places = new CallPlaces(3, []);
    expect(fill(places, 'a')).toHaveLength(6);
    expect(begun).toHaveLength(3);
  });

  it('begins waiting calls in their order, and those not that were called off', () => {
    const places = new CallPlaces(1, []);
    const [first, second] = ['a', 'b'].map((tenant) => enter(places, tenant)!);
    expect(enter(places, 'c')).toBeNull();
    second!.leave();
    enter(places, 'd');
    first!.leave();
    expect(begun).toEqual(['a', 'd']);
    expect(places.taken).toBe(1);
  });

  it('begins a call that was let in before it was started when it is', () => {
    const places = new CallPlaces(1, []);
    const first = places.enter(['a', 'a'])!;
    const second = places.enter(['b', 'b'])!;
    first.leave();
    second.start(() => begun.push('b'));
    expect(begun).toEqual(['b']);
    second.leave();
    expect(places.taken).toBe(0);
  });
});
