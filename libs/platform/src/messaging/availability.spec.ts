import { Availability } from './availability';

describe(Availability.name, () => {
  const never = new AbortController().signal;

  it('lets those who wait have the next one that comes', async () => {
    const availability = new Availability<{ id: number }>();
    const waiting = [availability.wait(never), availability.wait(never)];
    availability.arrived({ id: 1 });
    await expect(Promise.all(waiting)).resolves.toEqual([{ id: 1 }, { id: 1 }]);
    await expect(availability.wait(never)).resolves.toEqual({ id: 1 });
  });

  it('lets go of those who cannot wait any longer', async () => {
    const availability = new Availability<object>();
    const patience = new AbortController();
    const waiting = availability.wait(patience.signal);
    patience.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  it('is not moved by the late end of one that was replaced', () => {
    const availability = new Availability<object>();
    const [first, second] = [{}, {}];
    availability.arrived(first);
    availability.arrived(second);
    availability.left(first);
    expect(availability.current).toBe(second);
    availability.left(second);
    expect(availability.current).toBeUndefined();
  });
});
