/**
 * Who may call a route. Without a decorator it is `inference`: API keys but not management keys. The decorators apply
 * to a method or a class; the method's has precedence.
 */
export type RouteAccess = 'public' | 'inference' | 'management' | 'any-key';

export const ROUTE_ACCESS = Symbol('route access');
