# What generated modules need besides Elixir, as far as they use it: the behaviour of ExAthena 0.19,
# and Req 0.5 on Erlang's own client.

defmodule ExAthena.ToolContext do
  defstruct cwd: nil, phase: :default, session_id: nil, tool_call_id: nil, assigns: %{}

  @type t :: %__MODULE__{}
end

defmodule ExAthena.Tool do
  @callback name() :: String.t()
  @callback description() :: String.t()
  @callback schema() :: map()
  @callback execute(arguments :: map(), ctx :: ExAthena.ToolContext.t()) ::
              {:ok, term()} | {:error, term()} | {:halt, term()}
  @callback parallel_safe?() :: boolean()
  @callback read_only?() :: boolean()

  @optional_callbacks parallel_safe?: 0, read_only?: 0
end

defmodule Req do
  @known [:method, :url, :headers, :body, :into, :raw, :compressed, :retry, :redirect] ++
           [:receive_timeout]

  def request(options) do
    # The true one follows, repeats, decodes and asks for compression unless it is told not to.
    [] = Keyword.keys(options) -- @known

    [true, false, false, false] =
      for key <- [:raw, :compressed, :retry, :redirect], do: options[key]

    {:ok, _} = Application.ensure_all_started(:inets)

    if String.starts_with?(options[:url], "http://nowhere.invalid"),
      do: told(options),
      else: sent(options)
  end

  # Says what the true one would be given, and refuses what the true one refuses.
  defp told(options) do
    true = options[:url] =~ ~r/\A(?:[A-Za-z0-9_.~:\/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+\z/

    for {name, text} <- options[:headers],
        do: true = name =~ ~r/\A[a-z0-9!#$%&'*+.^_`|~-]+\z/ and text =~ ~r/\A[ -~\t]*\z/

    lines = for {name, text} <- options[:headers], do: "#{name}: #{text}"
    head = Enum.join([options[:method], options[:url] | lines], "\n")
    body = "#{head}\n\n#{if options[:body], do: Base.encode64(options[:body]), else: "none"}"
    {:ok, answer(200, [], body, options[:into])}
  end

  defp sent(options) do
    headers =
      for {name, text} <- options[:headers], do: {to_charlist(name), :binary.bin_to_list(text)}

    url = to_charlist(options[:url])
    http = [autoredirect: false, timeout: options[:receive_timeout]]

    case :httpc.request(options[:method], message(url, headers, options), http,
           body_format: :binary
         ) do
      {:ok, {{_, status, _}, fields, body}} -> {:ok, answer(status, fields, body, options[:into])}
      {:error, reason} -> {:error, %{__struct__: Req.TransportError, reason: plain(reason)}}
    end
  end

  defp message(url, headers, options) do
    case options[:body] do
      nil -> {url, headers}
      body -> {url, headers, content_type(headers), body}
    end
  end

  defp content_type(headers) do
    Enum.find_value(headers, ~c"text/plain", fn {name, text} ->
      if name == ~c"content-type", do: text
    end)
  end

  defp answer(status, fields, body, into) do
    headers =
      Enum.reduce(fields, %{}, fn {name, text}, found ->
        Map.update(found, to_string(name), [to_string(text)], &(&1 ++ [to_string(text)]))
      end)

    start = %{status: status, headers: headers, body: ""}
    half = div(byte_size(body), 2)
    <<one::binary-size(half), other::binary>> = body

    [one, other]
    |> Enum.reject(&(&1 == ""))
    |> Enum.reduce_while(start, fn data, response ->
      {step, {_, response}} = into.({:data, data}, {:request, response})
      {step, response}
    end)
  end

  defp plain(reason) when is_atom(reason), do: reason
  defp plain({:failed_connect, _}), do: :econnrefused
  defp plain(_reason), do: :closed
end
