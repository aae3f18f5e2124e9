/** Returns the same object with some of its methods replaced. */
export function withMethods<T extends object>(whole: T, methods: Partial<T>): T {
  return new Proxy(whole, {
    get(target, name) {
      if (name in methods) return Reflect.get(methods, name) as unknown
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
