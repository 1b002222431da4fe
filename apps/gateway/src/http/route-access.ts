/**
 * Who may call a route. Without a decorator it is `inference`: an API key, and no management key. The
 * decorators stand on a method or a class; the method's wins.
 */
export type RouteAccess = 'public' | 'inference' | 'management' | 'any-key';

export const ROUTE_ACCESS = Symbol('route access');
