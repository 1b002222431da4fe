import { DatetimeTool } from './datetime.tool';

const tool = new DatetimeTool(() => new Date('2026-03-29T00:59:59.500Z'));
const tell = async (parameters: object, args: unknown) =>
  (await tool.bind({ ...parameters }, 'p').run(args, {} as never)).item;

describe(DatetimeTool.name, () => {
  it.each([
    [{}, {}, '2026-03-29T00:59:59+00:00', 'UTC'],
    [{ timezone: 'Europe/Berlin' }, {}, '2026-03-29T01:59:59+01:00', 'Europe/Berlin'],
    [{ timezone: 'Europe/Berlin' }, { timezone: 'America/St_Johns' }, '2026-03-28T22:29:59-02:30', 'America/St_Johns'],
    [{}, null, '2026-03-29T00:59:59+00:00', 'UTC'],
  ])('with the settings %j and the arguments %j says %s', async (parameters, args, datetime, timezone) => {
    expect(await tell(parameters, args)).toEqual({ datetime, timezone });
  });

  it('tells the model when there is no such zone', async () => {
    const outcome = await tool.bind({}, 'p').run({ timezone: 'Mars/Olympus' }, {} as never);
    expect(outcome).toMatchObject({ isError: true });
  });

  it('refuses settings with no such zone', () => {
    expect(() => tool.bind({ timezone: 'Mars/Olympus' }, 'tools[0].parameters')).toThrow(
      'tools[0].parameters.timezone',
    );
  });

  it('has the platform look up no long texts', async () => {
    const format = jest.spyOn(Intl, 'DateTimeFormat');
    const timezone = 'E'.repeat(65);
    expect(() => tool.bind({ timezone }, 'p')).toThrow('p.timezone');
    const bound = tool.bind({}, 'p');
    format.mockClear();
    expect(await bound.run({ timezone }, {} as never)).toMatchObject({ isError: true });
    expect(format).not.toHaveBeenCalled();
    format.mockRestore();
  });
});
