/** What an endpoint says of itself beside its plain members, as the catalogue has it. */
type Capabilities = Readonly<Record<string, unknown>>;

export function ownMember(capabilities: Capabilities, name: string): unknown {
  return Object.hasOwn(capabilities, name) ? capabilities[name] : undefined;
}

/** The parameters that an endpoint names in place of its model's; null where it names none. */
export function ownParameters(capabilities: Capabilities): readonly string[] | null {
  const parameters = ownMember(capabilities, 'supported_parameters');
  return Array.isArray(parameters) ? parameters.map(String) : null;
}
