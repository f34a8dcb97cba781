package announcer

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

// every is what and and or are while a template is checked: all their arguments are looked at.
const every = "_every"

// lastOf is the last of some values.
func lastOf(first any, more ...any) any {
	if len(more) > 0 {
		return more[len(more)-1]
	}
	return first
}

// check makes every value of a template pass show, and runs all its branches,
// taken or not, over a body in which nothing is empty. So a field that does not
// exist is found at start, and not by the first event that reaches it.
func check(t *template.Template, kind string) error {
	if len(t.Templates()) > 1 {
		return errors.New("a template defines no other")
	}
	if t.Tree == nil || t.Root == nil || parse.IsEmptyTree(t.Root) {
		return errors.New("it is empty")
	}
	if strings.Contains(t.Root.String(), mark) {
		return errors.New("it contains a character that is none")
	}
	whole, err := t.Clone()
	if err != nil {
		return err
	}
	whole.Tree = whole.Copy() // a clone shares its tree
	if whole.Root, err = straight(whole.Root); err != nil {
		return err
	}
	shown(t.Root)
	return whole.Execute(io.Discard, About{Kind: kind, Project: "x", Component: "x", At: time.Unix(0, 0), Walkthrough: true, Body: full(bodyOf(kind), 0).Interface()})
}

// shown lets the value of every action pass show. One that sets a variable has none.
func shown(list *parse.ListNode) {
	if list == nil {
		return
	}
	branch := func(b *parse.BranchNode) { shown(b.List); shown(b.ElseList) }
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				pass := parse.NewIdentifier(show).SetPos(n.Pos)
				n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{pass}})
			}
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
			counted(n)
		case *parse.WithNode:
			branch(&n.BranchNode)
		}
	}
}

// counted makes each turn of a range call turn.
func counted(n *parse.RangeNode) {
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{parse.NewIdentifier(turn).SetPos(n.Pos)}}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: n.Pos, Line: n.Line, Cmds: []*parse.CommandNode{call}}
	n.List.Nodes = slices.Insert(n.List.Nodes, 0, parse.Node(&parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Line: n.Line, Pipe: pipe}))
}

// straight is a list of nodes with every branch one after another.
func straight(list *parse.ListNode) (*parse.ListNode, error) {
	out := &parse.ListNode{NodeType: parse.NodeList}
	if list == nil {
		return out, nil
	}
	out.Pos = list.Pos
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			eager(n.Pipe)
			out.Nodes = append(out.Nodes, n)
		case *parse.IfNode:
			eager(n.Pipe)
			out.Nodes = append(out.Nodes, &parse.ActionNode{NodeType: parse.NodeAction, Pos: n.Pos, Line: n.Line, Pipe: n.Pipe})
			if err := both(out, n.List, n.ElseList); err != nil {
				return nil, err
			}
		case *parse.RangeNode:
			if err := within(out, n, &n.BranchNode); err != nil {
				return nil, err
			}
			counted(n)
		case *parse.WithNode:
			if err := within(out, n, &n.BranchNode); err != nil {
				return nil, err
			}
		case *parse.TemplateNode:
			return nil, errors.New("a template calls no other")
		case *parse.BreakNode, *parse.ContinueNode, *parse.TextNode, *parse.CommentNode:
			// They name nothing, and the first two would pass over what follows.
		default:
			return nil, fmt.Errorf("%s has no place here", n)
		}
	}
	return out, nil
}

// both appends lists one after another.
func both(out *parse.ListNode, lists ...*parse.ListNode) error {
	for _, list := range lists {
		more, err := straight(list)
		if err != nil {
			return err
		}
		out.Nodes = append(out.Nodes, more.Nodes...)
	}
	return nil
}

// within appends a node that changes the dot, and after it what stands in its place when there is nothing.
func within(out *parse.ListNode, n parse.Node, b *parse.BranchNode) (err error) {
	eager(b.Pipe)
	instead := b.ElseList
	if b.List, err = straight(b.List); err != nil {
		return err
	}
	b.ElseList = nil
	out.Nodes = append(out.Nodes, n)
	return both(out, instead)
}

// eager lets and and or look at all their arguments.
func eager(n parse.Node) {
	switch n := n.(type) {
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			eager(c)
		}
	case *parse.CommandNode:
		for _, a := range n.Args {
			eager(a)
		}
	case *parse.ChainNode:
		eager(n.Node)
	case *parse.IdentifierNode:
		if n.Ident == "and" || n.Ident == "or" {
			n.Ident = every
		}
	}
}

// deepest bounds how far full goes into types that contain themselves.
const deepest = 8

// full is a value of a type in which nothing is empty.
func full(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	if depth > deepest {
		return v
	}
	if t == reflect.TypeFor[time.Time]() {
		return reflect.ValueOf(time.Unix(0, 0))
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(full(t.Elem(), depth+1))
	case reflect.Slice:
		v.Set(reflect.Append(v, full(t.Elem(), depth+1)))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(full(t.Key(), depth+1), full(t.Elem(), depth+1))
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(full(t.Field(i).Type, depth+1))
			}
		}
	}
	return v
}
